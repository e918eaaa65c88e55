import { directions } from './directions.ts';
import type { AbsenceStatement, AbsenceTopic } from './fhir/absence.ts';
import type { LinkedResources } from './fhir/distinctions.ts';
import { isJson, type Json, objectsOf } from './fhir/json.ts';
import {
  conceptText,
  dayText,
  referenceText,
  statusText,
  unique,
} from './fhir/words.ts';
import { valueWithUnit } from './observation.ts';
import type { Column, SummaryRow } from './parts.ts';
import type { RecordOrigin, RecordResource } from './record.ts';

/**
 * Each text once, without those that another one begins with: `HIE` beside `HIE
 * (also document of 3 Mar 2024)`.
 */
export const withoutShorter = (
  texts: readonly (string | undefined)[],
): string[] =>
  unique(texts).filter(
    (text, _, all) =>
      !all.some((other) => other !== text && other.startsWith(text)),
  );

/** Data of other resources that rows need. */
export interface Lookup {
  /** Names of Medications by id. */
  medications: ReadonlyMap<string, string>;
  /** RxNorm's codes of Medications by id. */
  medicationCodes?: ReadonlyMap<string, readonly string[]>;
  /** Names of Practitioners and Organizations by id. */
  people: ReadonlyMap<string, string>;
  /** Names of Conditions by id, as far as they have been read. */
  conditions: ReadonlyMap<string, string>;
  /**
   * By Observation id: the report that contains it, and its position in that
   * report.
   */
  reports: ReadonlyMap<string, { name: string; place: number }>;
  /** What says of Observations what they were measured of. */
  linked: LinkedResources;
}

/** Whether a resource of a section contradicts a statement of absence. */
export type Denial = (
  entry: SummaryEntry,
  statement: AbsenceStatement,
) => boolean;

/** A table over all resources of some types, newest first. */
export interface TableRule {
  caption: string;
  columns: readonly Column[];
  types: readonly string[];
  /** It shows a part of them, and no other table shows the rest. */
  isPart?: true;
  /**
   * Whether a resource of these types belongs in this table; without it, each
   * does.
   */
  shows?: (content: Json) => boolean;
  /** Undefined for a resource that does not belong in this table. */
  row?: (entry: SummaryEntry, lookup: Lookup) => SummaryRow | undefined;
  /** Instead of `row`, if rows do not correspond to single resources. */
  rows?: (
    entries: AsyncIterable<SummaryEntry>,
    lookup: Lookup,
  ) => AsyncIterable<SummaryRow>;
}

export interface SectionRule {
  id: string;
  title: string;
  /**
   * Shown when there are no rows. Must not claim that the patient has none:
   * only that none was delivered.
   */
  empty: string;
  /** It is left out of a record without resources of its types. */
  isOptional?: true;
  tables: readonly TableRule[];
  /**
   * The topic of which sources may state absence, and which resources
   * contradict such a statement.
   */
  statements?: { topic: AbsenceTopic; denies: Denial };
}

/** The id in a local reference `Type/id`. */
export const idOf = (reference: unknown): string | undefined =>
  isJson(reference) && typeof reference.reference === 'string'
    ? reference.reference.slice(reference.reference.lastIndexOf('/') + 1)
    : undefined;

/** Who is referred to, by the reference's own words or by their name. */
export const nameOfReferred = (
  reference: unknown,
  { people }: Lookup,
): string | undefined =>
  referenceText(reference) ?? people.get(idOf(reference) ?? '');

/** Why something was done: coded, or the name of a Condition. */
export const reasonsOf = (
  { reasonCode, reasonReference }: Json,
  { conditions }: Lookup,
): string[] =>
  unique([
    ...objectsOf(reasonCode).map(conceptText),
    ...objectsOf(reasonReference).map(
      (each) => referenceText(each) ?? conditions.get(idOf(each) ?? ''),
    ),
  ]);

export const ORIGIN: Column = { title: 'Origin' };

const DAY =
  /\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}\b(?! \[in the future\])/g;
/** No place on earth is further ahead of UTC. */
const AHEAD_MS = 14 * 3_600_000;

/**
 * Marks the days of a text that are still to come: of what has happened, one of
 * them is an error of the source.
 */
export const markFuture = (text: string, madeAt: Date): string =>
  text.replace(DAY, (day) =>
    Date.parse(`${day} UTC`) > madeAt.getTime() + AHEAD_MS
      ? `${day} [in the future]`
      : day,
  );

/** A consolidated resource as the sections use it. */
export interface SummaryEntry {
  content: Json;
  /**
   * The sources that delivered it, and what it said before: `HIE, Laboratory;
   * before: 95 mg/dL (Laboratory)`.
   */
  origin: string;
}

export const summaryEntry = ({
  content,
  origins,
}: RecordResource): SummaryEntry => ({
  content: content as unknown as Json,
  // Page one reads many entries of which it shows no origin.
  get origin() {
    return originOf(origins);
  },
});

function originOf(origins: RecordResource['origins']): string {
  const standing = origins.filter(({ superseded }) => superseded === undefined);
  const [former, ...older] = origins.filter(
    ({ superseded }) => superseded !== undefined,
  );
  const newest = [...standing].sort(byNewestDocument);
  const now = unique(standing.map(({ source }) => source))
    .map((name) => {
      const own = newest.filter(({ source }) => source === name);
      const [text = ''] = own
        .filter(({ isConverted }) => isConverted)
        .map(originText);
      return own.every(({ isConverted }) => isConverted)
        ? text
        : text.replace('(', '(also ') || name;
    })
    .join(', ');
  const before =
    former && `before: ${statedText(former)} (${originText(former)})`;
  return unique([
    now,
    before,
    older.length === 0 ? undefined : `${older.length} more before`,
  ]).join('; ');
}

const byNewestDocument = (left: RecordOrigin, right: RecordOrigin): number =>
  (left.statedOn ?? '') < (right.statedOn ?? '') ? 1 : -1;

/** `HIE (document of 3 Mar 2024)` */
function originText({ source, isConverted, statedOn }: RecordOrigin): string {
  const day = dayText(statedOn);
  return `${source}${isConverted ? ` (document${day === undefined ? '' : ` of ${day}`})` : ''}`;
}

/**
 * What changes in the versions of one statement: a value, a status, directions.
 */
function statedText({ superseded = {} }: RecordOrigin): string {
  const values = [superseded, ...objectsOf(superseded.component)].flatMap(
    (part) => valueWithUnit(part) ?? [],
  );
  const { clinicalStatus, status, dosageInstruction, dosage } = superseded;
  return unique([
    values.length === 0
      ? (conceptText(clinicalStatus) ?? statusText(status))?.toLowerCase()
      : values.map(({ value, unit }) => `${value} ${unit}`.trim()).join(', '),
    directions(dosageInstruction ?? dosage),
  ]).join(', ');
}
