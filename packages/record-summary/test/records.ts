import type { FhirResource } from 'fhir/r4.js';
import type { SummaryPart } from '../src/parts.ts';
import { type RecordReader, recordOf } from '../src/record.ts';
import { summarise } from '../src/summarise.ts';

export const PATIENT = {
  resourceType: 'Patient',
  id: '0190a1b2-0000-7000-8000-000000000001',
  name: [{ given: ['Ann', 'Marie'], family: 'Sample' }],
  birthDate: '1980-04-05',
  gender: 'female',
};

/** A record of one source. */
export const recordWith = (
  contents: readonly object[],
  source = 'HIE',
): RecordReader =>
  recordOf(
    contents.map((content) => ({
      content: { id: 'x', ...content } as FhirResource,
      origins: [{ source }],
    })),
  );

export const partsOf = (record: RecordReader): AsyncGenerator<SummaryPart> =>
  summarise(record, { madeAt: new Date('2026-11-21T12:00:00Z') });

/** The rows of one section, cell by cell; groups as one cell. */
export async function rowsOf(
  contents: readonly object[],
  sectionId: string,
): Promise<string[][]> {
  const rows: string[][] = [];
  let section = '';
  for await (const part of partsOf(recordWith([PATIENT, ...contents]))) {
    if (part.kind === 'section') section = part.id;
    if (section !== sectionId) continue;
    if (part.kind === 'row') rows.push(part.cells.map(({ text }) => text));
    if (part.kind === 'group') rows.push([part.title]);
    if (part.kind === 'note') rows.push([part.text]);
  }
  return rows;
}

export async function gather<T>(pieces: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}
