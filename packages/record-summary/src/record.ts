import type { FhirResource } from 'fhir/r4.js';
import { codeTable } from './fhir/code-table.ts';
import { clinicalTime } from './fhir/dates.ts';
import type { Json } from './fhir/json.ts';

/** One source's delivery of a resource. */
export interface RecordOrigin {
  /** As readers know it: `General Hospital`. */
  source: string;
  /** Whether it was converted from a document. */
  isConverted?: boolean;
  /** FHIR dateTime of that document. */
  statedOn?: string;
  /** What it stated, if a newer version has superseded it. */
  superseded?: Json;
}

export interface RecordResource {
  id: string;
  resourceType: string;
  content: FhirResource;
  /** The leading one first; empty where nobody delivered it. */
  origins: readonly RecordOrigin[];
}

/** What a summary says of how complete a record is. */
export interface RecordStanding {
  /** Why the record is incomplete, in one sentence; a reader must not miss it. */
  alert?: string;
  /** One line for each source: when it was asked, what it delivered. */
  sourceLines?: readonly string[];
  /** How many resources are withheld from this reader. */
  withheld?: number;
  /** Ids of DocumentReferences whose document names another one as newer. */
  replaced?: readonly string[];
}

/**
 * Access to a record for the summary, which asks for it once for each table.
 */
export interface RecordReader extends RecordStanding {
  /** The number of resources of each type. */
  counts: Readonly<Record<string, number>>;
  /** Resources of these types, by type, newest first. */
  read(types: readonly string[]): AsyncIterable<RecordResource>;
}

/** Which part of a record is shown; without anything, all of it. */
export interface RecordPart {
  types?: readonly string[];
  /** YYYY-MM-DD, inclusive. */
  dateFrom?: string;
  /** YYYY-MM-DD, inclusive. */
  dateTo?: string;
}

/**
 * A record in memory: a person's Patient and what refers to it. Nothing is
 * merged: what two sources say is shown twice.
 *
 * @param resources FHIR R4, each with an id; references are local (`Type/id`)
 * @param standing how complete it is, if that is known
 */
export function recordOf(
  resources: Iterable<{
    content: FhirResource;
    origins?: readonly RecordOrigin[];
  }>,
  standing: RecordStanding = {},
): RecordReader {
  const all = [...resources]
    .map(({ content, origins = [] }) => ({
      id: content.id ?? '',
      resourceType: content.resourceType as string,
      content,
      origins,
      day: clinicalTime(content as unknown as Json).sortDate,
    }))
    .sort((left, right) => right.day.localeCompare(left.day));

  const counts: Record<string, number> = codeTable({});
  for (const { resourceType } of all)
    counts[resourceType] = (counts[resourceType] ?? 0) + 1;

  return {
    ...standing,
    counts,
    async *read(types) {
      for (const type of [...types].sort())
        yield* all.filter(({ resourceType }) => resourceType === type);
    },
  };
}

/**
 * What an empty section says, "The sources have delivered no problems.", where
 * there may be some that are withheld.
 */
export const emptyText = (
  empty: string,
  { withheld = 0 }: Pick<RecordStanding, 'withheld'>,
): string => (withheld === 0 ? empty : `Apart from what is withheld: ${empty}`);
