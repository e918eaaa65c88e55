import type { ConsolidatedResource, Origin } from '../reading/read-consolidated.ts';
import { type Json, objectsOf } from '../rules/json.ts';
import { conceptText, dayText, sourceName, statusText, unique } from '../rules/words.ts';
import { directions } from './directions.ts';
import { valueIn } from './observation-value.ts';

/** A consolidated resource as the sections use it. */
export interface SummaryEntry {
  content: Json;
  /** The sources that delivered it, and what it said before: `HIE, Laboratory; before: 95 mg/dL (Laboratory)`. */
  origin: string;
}

export const entryOf = ({ content, origins }: ConsolidatedResource): SummaryEntry => {
  const standing = origins.filter(({ superseded }) => superseded === undefined);
  const [former, ...older] = origins.filter(({ superseded }) => superseded !== undefined);
  const named = new Map<string, string>();
  for (const origin of [...standing].sort(byNewestDocument)) {
    const { source, isConverted } = origin;
    const key = `${source} ${isConverted}`;
    if (!named.has(key)) named.set(key, originText(origin));
  }
  const now = unique(standing.map(({ source, isConverted }) => named.get(`${source} ${isConverted}`))).join(
    ', ',
  );
  const before = former && `before: ${statedText(former)} (${originText(former)})`;
  return {
    content: content as unknown as Json,
    origin: unique([now, before, older.length === 0 ? undefined : `${older.length} more before`]).join('; '),
  };
};

const byNewestDocument = (left: Origin, right: Origin): number =>
  (left.statedOn ?? '') < (right.statedOn ?? '') ? 1 : -1;

/** `HIE (document of 3 Mar 2024)` */
function originText({ source, isConverted, statedOn }: Origin): string {
  const day = dayText(statedOn);
  return `${sourceName(source)}${isConverted ? ` (document${day === undefined ? '' : ` of ${day}`})` : ''}`;
}

/** What changes in the versions of one statement: a value, a status, directions. */
function statedText({ superseded = {} }: Origin): string {
  const values = [superseded, ...objectsOf(superseded.component)].flatMap((part) => valueIn(part) ?? []);
  const { clinicalStatus, status, dosageInstruction, dosage } = superseded;
  return unique([
    values.length === 0
      ? (conceptText(clinicalStatus) ?? statusText(status))?.toLowerCase()
      : values.map(({ value, unit }) => `${value} ${unit}`.trim()).join(', '),
    directions(dosageInstruction ?? dosage),
  ]).join(', ');
}
