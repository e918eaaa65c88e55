import type { AbsenceStatement, AbsenceTopic } from '../rules/absence.ts';
import { isJson, type Json, objectsOf } from '../rules/json.ts';
import { conceptText, referenceText, unique } from '../rules/words.ts';
import type { SummaryEntry } from './entry.ts';
import { type Column, row, type SummaryCell, type SummaryRow } from './parts.ts';

/** Data of other resources that rows need. */
export interface Lookup {
  /** Names of Medications by id. */
  medications: ReadonlyMap<string, string>;
  /** Names of Conditions by id, as far as they have been read. */
  conditions: ReadonlyMap<string, string>;
  /** By Observation id: the report that contains it, and its position in that report. */
  reports: ReadonlyMap<string, { name: string; place: number }>;
}

/** Whether a resource of a section contradicts a statement of absence. */
export type Denial = (entry: SummaryEntry, statement: AbsenceStatement) => boolean;

/** A table over all resources of some types, newest first. */
export interface TableRule {
  caption: string;
  columns: readonly Column[];
  types: readonly string[];
  /** Undefined for a resource that does not belong in this table. */
  row?: (entry: SummaryEntry, lookup: Lookup) => SummaryRow | undefined;
  /** Instead of `row`, if rows do not correspond to single resources. */
  rows?: (entries: AsyncIterable<SummaryEntry>, lookup: Lookup) => AsyncIterable<SummaryRow>;
}

export interface SectionRule {
  id: string;
  title: string;
  /** Shown when there are no rows. Must not claim that the patient has none: only that none was delivered. */
  empty: string;
  tables: readonly TableRule[];
  /** The topic of which sources may state absence, and which resources contradict such a statement. */
  statements?: { topic: AbsenceTopic; denies: Denial };
}

/** The id in a local reference `Type/id`. */
export const idOf = (reference: unknown): string | undefined =>
  isJson(reference) && typeof reference.reference === 'string'
    ? reference.reference.slice(reference.reference.lastIndexOf('/') + 1)
    : undefined;

/** Why something was done: coded, or the name of a Condition. */
export const reasonsOf = ({ reasonCode, reasonReference }: Json, { conditions }: Lookup): string[] =>
  unique([
    ...objectsOf(reasonCode).map(conceptText),
    ...objectsOf(reasonReference).map((each) => referenceText(each) ?? conditions.get(idOf(each) ?? '')),
  ]);

export const ORIGIN: Column = { title: 'Origin' };

/** A table with a row for each resource: a cell by column title, then the origin. */
export const resourceTable = ({
  caption,
  types,
  shows = () => true,
  numeric = [],
  cells,
}: Pick<TableRule, 'caption' | 'types'> & {
  /** Whether a resource belongs in this table; default: each of these types does. */
  shows?: (content: Json) => boolean;
  /** Titles of the columns with numbers. */
  numeric?: readonly string[];
  cells: Readonly<Record<string, (content: Json, lookup: Lookup) => string | SummaryCell | undefined>>;
}): TableRule => ({
  caption,
  types,
  columns: [...Object.keys(cells).map((title) => ({ title, isNumeric: numeric.includes(title) })), ORIGIN],
  row: ({ content, origin }, lookup) =>
    shows(content) ? row(...Object.values(cells).map((cell) => cell(content, lookup)), origin) : undefined,
});
