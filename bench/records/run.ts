import PDFDocument from 'pdfkit';
import {
  type RecordReader,
  renderHtml,
  renderPdf,
  type SummaryPart,
  summarise,
} from '#record-summary';
import { clinicalTime, type Json } from '#record-summary/fhir';
import type { ConsolidatedResource } from '../../src/exchange/records/reading/read-consolidated.ts';
import {
  loadSamplePatients,
  type SamplePatient,
} from '../../src/local-stack/sample-patients.ts';
import { deliveriesOfSample } from '../merge/deliveries.ts';

export interface RecordsBenchOptions {
  rounds: number;
}

/** Times of one sample's summary; medians in milliseconds. */
export interface RecordsBenchResult {
  sample: string;
  resources: number;
  rows: number;
  /**
   * Building the parts from the resources; floor: the same resources to text.
   */
  partsMs: number;
  partsFloorMs: number;
  htmlMs: number;
  pdfMs: number;
  /**
   * The bare library: the same texts one below the other, without tables, tags
   * or headings.
   */
  pdfFloorMs: number;
}

/**
 * Measures each sample's record as html and pdf against the bare calls that any
 * conversion needs.
 */
export async function benchRecords(
  { rounds }: RecordsBenchOptions,
  note: (line: string) => void,
): Promise<RecordsBenchResult[]> {
  const results: RecordsBenchResult[] = [];
  for (const sample of loadSamplePatients()) {
    const resources = resourcesOf(sample);
    const parts = await gather(partsOf(resources));
    const taken = async (work: () => Promise<unknown>): Promise<number> => {
      const times: number[] = [];
      // The first round is a warm-up.
      for (let round = 0; round <= rounds; round += 1) {
        const startedMs = performance.now();
        await work();
        if (round > 0) times.push(performance.now() - startedMs);
      }
      return (
        times.sort((left, right) => left - right)[
          Math.floor(times.length / 2)
        ] ?? Number.NaN
      );
    };
    results.push({
      sample: sample.key,
      resources: resources.length,
      rows: parts.filter(({ kind }) => kind === 'row').length,
      partsMs: await taken(() => gather(partsOf(resources))),
      partsFloorMs: await taken(async () => JSON.stringify(resources)),
      htmlMs: await taken(() => gather(renderHtml(each(parts)))),
      pdfMs: await taken(() => gather(renderPdf(each(parts)))),
      pdfFloorMs: await taken(() => barePdf(parts)),
    });
    note(`${sample.key} done`);
  }
  return results;
}

const partsOf = (
  resources: readonly ConsolidatedResource[],
): AsyncIterable<SummaryPart> =>
  summarise(readerOf(resources), { filter: {}, madeAt: new Date() });

/** The resources of the sources in the form of the record, unmerged. */
function resourcesOf(sample: SamplePatient): ConsolidatedResource[] {
  const all = deliveriesOfSample(sample).flatMap(({ source, resources }) =>
    resources.map((content) => ({
      id: String(content.id),
      resourceType: content.resourceType,
      content,
      origins: [
        {
          source,
          sourceId: '',
          fileName: '',
          collectedAt: new Date(),
          isConverted: false,
        },
      ],
      sortDate: clinicalTime(content as unknown as Json).sortDate,
    })),
  );
  return all.sort((left, right) => (left.sortDate < right.sortDate ? 1 : -1));
}

function readerOf(resources: readonly ConsolidatedResource[]): RecordReader {
  return {
    counts: {},
    async *read(types) {
      yield* resources.filter(({ resourceType }) =>
        types.includes(resourceType),
      );
    },
  };
}

async function barePdf(parts: readonly SummaryPart[]): Promise<void> {
  const document = new PDFDocument({ size: 'LETTER' });
  const ended = new Promise((resolve) => document.once('end', resolve));
  document.on('data', () => undefined);
  document.fontSize(8);
  for (const part of parts) {
    if (part.kind === 'row')
      for (const { text } of part.cells) document.text(text);
    else if (part.kind === 'group' || part.kind === 'section')
      document.text(part.title);
  }
  document.end();
  await ended;
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
