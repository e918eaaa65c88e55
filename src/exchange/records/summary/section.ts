import type { Store } from '../../platform/database/database.ts';
import {
  type RecordCompleteness,
  readRecordCompleteness,
} from '../reading/completeness.ts';
import {
  type ConsolidatedFilter,
  type ConsolidatedResource,
  consolidatedPages,
  consolidatedResources,
  countConsolidated,
  type Origin,
} from '../reading/read-consolidated.ts';
import type { AbsenceStatement, AbsenceTopic } from '../rules/absence.ts';
import type { LinkedResources } from '../rules/distinctions.ts';
import { isJson, type Json, objectsOf } from '../rules/json.ts';
import {
  conceptText,
  dayText,
  referenceText,
  sourceName,
  statusText,
  unique,
} from '../rules/words.ts';
import { directions } from './directions.ts';
import { valueWithUnit } from './observation.ts';
import type { Column, SummaryRow } from './parts.ts';

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
  /\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}\b/g;
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
}: ConsolidatedResource): SummaryEntry => {
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
        : text.replace('(', '(also ') || sourceName(name);
    })
    .join(', ');
  const before =
    former && `before: ${statedText(former)} (${originText(former)})`;
  return {
    content: content as unknown as Json,
    origin: unique([
      now,
      before,
      older.length === 0 ? undefined : `${older.length} more before`,
    ]).join('; '),
  };
};

const byNewestDocument = (left: Origin, right: Origin): number =>
  (left.statedOn ?? '') < (right.statedOn ?? '') ? 1 : -1;

/** `HIE (document of 3 Mar 2024)` */
function originText({ source, isConverted, statedOn }: Origin): string {
  const day = dayText(statedOn);
  return `${sourceName(source)}${isConverted ? ` (document${day === undefined ? '' : ` of ${day}`})` : ''}`;
}

/**
 * What changes in the versions of one statement: a value, a status, directions.
 */
function statedText({ superseded = {} }: Origin): string {
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

/**
 * Access to a record for the summary, which asks for it once for each table.
 */
export interface RecordReader {
  /** How complete it is. */
  standing: RecordCompleteness;
  /** Number of resources per type that match the filter. */
  counts: Readonly<Record<string, number>>;
  /** Resources of these types that match the filter, by type, newest first. */
  read(types: readonly string[]): AsyncIterable<ConsolidatedResource>;
}

/**
 * How much of records may be kept in memory, shared by those who read at the
 * same time: bytes of text.
 */
export interface KeptBytes {
  left: number;
}

/** Some 20,000 usual resources. */
const KEPT_BYTES_MAX = 32_000_000;

/**
 * Opens a patient's consolidated record. It is read once and kept, so that its
 * tables cost no further statements; types that `kept` leaves no room for are
 * read page by page for each table. Call `RecordKeeper.merge` before, and
 * `close` at the end.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function openRecordReader(
  store: Pick<Store, 'asAccount'>,
  {
    accountId,
    patientId,
    filter,
  }: { accountId: string; patientId: string; filter: ConsolidatedFilter },
  kept: KeptBytes = { left: KEPT_BYTES_MAX },
): Promise<RecordReader & { close(): void }> {
  // Read first, so that data which arrives while we read is reported as still
  // missing.
  const [standing, counts] = await store.asAccount(accountId, (tx) =>
    Promise.all([
      readRecordCompleteness(tx, patientId),
      countConsolidated({ ...tx, db: tx.db.together }, patientId, filter),
    ]),
  );
  const byType = new Map<string, ConsolidatedResource[]>();
  let bytesKept = 0;
  const close = () => {
    kept.left += bytesKept;
    bytesKept = 0;
  };
  const isWhole = await keepAll().catch((error: unknown) => {
    close();
    throw error;
  });
  return {
    standing,
    counts,
    async *read(types) {
      for (const [type, resources] of byType)
        if (types.includes(type)) yield* resources;
      const others = isWhole ? [] : types.filter((type) => !byType.has(type));
      if (others.length > 0)
        yield* consolidatedResources(store, {
          accountId,
          patientId,
          filter: { ...filter, types: others },
        });
    },
    close,
  };

  /** Returns whether there was room for all. */
  async function keepAll(): Promise<boolean> {
    if (filter.types !== undefined || kept.left <= 0) return false;
    const reading = halvesOf(counts).map(keep);
    // Both have ended before `close` gives back what they have kept.
    await Promise.allSettled(reading);
    const halves = await Promise.all(reading);
    // In the order of the record.
    for (const type of Object.keys(counts)) {
      const resources = halves.map(({ own }) => own.get(type)).find(Boolean);
      if (resources !== undefined) byType.set(type, resources);
    }
    return halves.every(({ isWhole }) => isWhole);
  }

  async function keep(
    types: readonly string[],
  ): Promise<{ own: Map<string, ConsolidatedResource[]>; isWhole: boolean }> {
    const own = new Map<string, ConsolidatedResource[]>();
    const of = { accountId, patientId, filter: { ...filter, types } };
    for await (const { resources, bytes, next } of consolidatedPages(
      store,
      of,
    )) {
      kept.left -= bytes;
      bytesKept += bytes;
      for (const each of resources) {
        const same = own.get(each.resourceType);
        if (same === undefined) own.set(each.resourceType, [each]);
        else same.push(each);
      }
      if (next !== undefined && kept.left <= 0) {
        // There may be more of the last type.
        own.delete(next.resourceType);
        return { own, isWhole: false };
      }
    }
    return { own, isWhole: true };
  }
}

/** Records of fewer resources are read in one page. */
const HALVED_FROM = 1_000;

/**
 * The types in two parts that are read side by side: that with the most
 * resources, often half of all, and the others.
 */
function halvesOf(counts: Readonly<Record<string, number>>): string[][] {
  const [[most, many] = ['', 0], ...others] = Object.entries(counts).sort(
    ([, one], [, other]) => other - one,
  );
  const rest = others.map(([type]) => type);
  const all = others.reduce((sum, [, count]) => sum + count, many);
  return all < HALVED_FROM || rest.length === 0
    ? [[most, ...rest]]
    : [[most], rest];
}
