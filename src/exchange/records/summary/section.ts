import type { ConsolidatedResource } from '../read-consolidated.ts';
import type { AbsenceTopic } from '../rules/absence.ts';
import { isJson, type Json } from '../rules/json.ts';
import type { Denial } from './absence-notes.ts';
import type { Column, SummaryRow } from './parts.ts';
import { unique } from './words.ts';

/** A consolidated resource as the sections read it. */
export interface Entry {
  content: Json;
  /** `HIE, Laboratory`: which sources told it. */
  origin: string;
}

/** What rows need of other resources than their own. */
export interface Lookup {
  /** Names of Medications by id. */
  medications: ReadonlyMap<string, string>;
  /** By an Observation's id: the report that it belongs to, and its place there. */
  reports: ReadonlyMap<string, { name: string; place: number }>;
}

/** A table over all resources of some types, newest first. */
export interface TableRule {
  caption: string;
  columns: readonly Column[];
  types: readonly string[];
  /** Undefined for a resource that is not of this table. */
  row?: (entry: Entry, lookup: Lookup) => SummaryRow | undefined;
  /** Instead of `row`, where rows are not made of one resource each. */
  rows?: (entries: AsyncIterable<Entry>, lookup: Lookup) => AsyncIterable<SummaryRow>;
}

export interface SectionRule {
  id: string;
  title: string;
  /** Said when there is nothing; not that there is nothing in the world. */
  empty: string;
  tables: readonly TableRule[];
  /** What sources may state that there is none of, and which things contradict that. */
  statements?: { topic: AbsenceTopic; denies: Denial };
}

const SOURCE_NAMES: Readonly<Record<string, string>> = {
  hie: 'HIE',
  pharmacy: 'Pharmacy',
  lab: 'Laboratory',
  message: 'Message',
};
export const sourceName = (source: string): string => SOURCE_NAMES[source] ?? source;

export const entryOf = ({ content, origins }: ConsolidatedResource): Entry => ({
  content: content as unknown as Json,
  origin: unique(
    origins.map(({ source, isConverted }) => `${sourceName(source)}${isConverted ? ' (document)' : ''}`),
  ).join(', '),
});

/** Id of what a local reference leads to. */
export const idOf = (reference: unknown): string | undefined =>
  isJson(reference) && typeof reference.reference === 'string'
    ? reference.reference.slice(reference.reference.lastIndexOf('/') + 1)
    : undefined;

export const ORIGIN: Column = { title: 'Origin', width: 12 };
