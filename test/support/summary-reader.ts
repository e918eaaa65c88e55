import type { RecordCompleteness } from '../../src/exchange/records/reading/completeness.ts';
import type {
  ConsolidatedFilter,
  ConsolidatedResource,
} from '../../src/exchange/records/reading/read-consolidated.ts';
import { clinicalTime } from '../../src/exchange/records/rules/dates.ts';
import type { Json } from '../../src/exchange/records/rules/json.ts';
import type { SummaryPart } from '../../src/exchange/records/summary/parts.ts';
import type { RecordReader } from '../../src/exchange/records/summary/section.ts';
import { summarise } from '../../src/exchange/records/summary/summarise.ts';
import { deliveriesOf, patientIdsOf, personOf, samples } from './deliveries.ts';
import { mergeDeliveries } from './merge-deliveries.ts';

/** A record in memory, in the order of the real reader. */
export const ANSWERED: RecordCompleteness = {
  readAt: new Date(0),
  sources: [
    {
      source: 'hie',
      state: 'completed',
      lastAttempted: new Date('2026-03-07T10:00:00Z'),
      lastCompleted: new Date('2026-03-07T10:05:00Z'),
      resources: 7,
      fromDocuments: 0,
      documents: 1,
      omissions: [],
    },
  ],
  unread: [],
};

export function readerOf(
  contents: readonly object[],
  source: 'hie' | 'lab' = 'hie',
  standing: RecordCompleteness = ANSWERED,
): RecordReader {
  const all = contents.map((content) => {
    const { id = 'x', resourceType } = content as {
      id?: string;
      resourceType: string;
    };
    const origin = {
      source,
      sourceId: id,
      fileName: 'page.json',
      collectedAt: new Date(0),
      isConverted: false,
    };
    return {
      id,
      resourceType,
      content,
      origins: [origin],
    } as unknown as ConsolidatedResource;
  });
  const sortDate = ({ content }: ConsolidatedResource) =>
    clinicalTime(content as unknown as Json).sortDate;
  const counts: Record<string, number> = {};
  for (const { resourceType } of all)
    counts[resourceType] = (counts[resourceType] ?? 0) + 1;
  return {
    standing,
    counts,
    async *read(types) {
      for (const type of [...types].sort())
        yield* all
          .filter(({ resourceType }) => resourceType === type)
          .sort((left, right) => (sortDate(left) < sortDate(right) ? 1 : -1));
    },
  };
}

export function sampleReader(key: string): RecordReader {
  const sample = samples.find((each) => each.key === key);
  if (sample === undefined) throw new Error(`there is no sample ${key}`);
  const { resources } = mergeDeliveries(
    personOf(sample),
    deliveriesOf(sample),
    patientIdsOf(sample),
  );
  return readerOf(resources);
}

const MADE_AT = new Date('2026-11-21T12:00:00Z');

export const partsOf = (
  reader: RecordReader,
  filter: ConsolidatedFilter = {},
): AsyncGenerator<SummaryPart> =>
  summarise(reader, { filter, madeAt: MADE_AT });

/** The rows of one section, cell by cell; groups as one cell. */
export async function rowsOf(
  contents: readonly object[],
  sectionId: string,
): Promise<string[][]> {
  const rows: string[][] = [];
  let section = '';
  for await (const part of partsOf(readerOf([PATIENT, ...contents]))) {
    if (part.kind === 'section') section = part.id;
    if (section !== sectionId) continue;
    if (part.kind === 'row') rows.push(part.cells.map(({ text }) => text));
    if (part.kind === 'group') rows.push([part.title]);
    if (part.kind === 'note') rows.push([part.text]);
  }
  return rows;
}

export const PATIENT = {
  resourceType: 'Patient',
  id: '0190a1b2-0000-7000-8000-000000000001',
  name: [{ given: ['Ann', 'Marie'], family: 'Sample' }],
  birthDate: '1980-04-05',
  gender: 'female',
};

export async function gather<T>(pieces: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}
