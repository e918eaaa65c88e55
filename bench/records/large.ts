import { setImmediate } from 'node:timers/promises';
import {
  fittedTables,
  type RecordReader,
  renderHtml,
  renderPdf,
  summarise,
} from '#record-summary';
import { clinicalTime, type Json } from '#record-summary/fhir';
import type { ConsolidatedResource } from '../../src/exchange/records/reading/read-consolidated.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { deliveriesOfSample } from '../merge/deliveries.ts';

export interface LargeRecordOptions {
  megabytes: number;
  format: 'html' | 'pdf';
}

export interface LargeRecordResult {
  resources: number;
  recordMegabytes: number;
  resultMegabytes: number;
  seconds: number;
  /** The most memory that the process ever had. */
  peakMegabytes: number;
}

const MEGABYTE = 1024 * 1024;

/**
 * Renders the record of one patient with very many resources, which are made
 * while they are read, as from a database.
 */
export async function benchLargeRecord({
  megabytes,
  format,
}: LargeRecordOptions): Promise<LargeRecordResult> {
  const record = recordOf(megabytes * MEGABYTE);
  const startedMs = performance.now();
  const summary = fittedTables(
    summarise(record.reader, { filter: {}, madeAt: new Date() }),
  );
  let bytes = 0;
  for await (const piece of format === 'html'
    ? renderHtml(summary)
    : renderPdf(summary))
    bytes += piece.length;
  return {
    resources: record.resources,
    recordMegabytes: record.bytes / MEGABYTE,
    resultMegabytes: bytes / MEGABYTE,
    seconds: (performance.now() - startedMs) / 1_000,
    peakMegabytes: process.resourceUsage().maxRSS / 1024,
  };
}

/**
 * The samples' resources again and again, each time with other ids, until the
 * size is reached.
 */
function recordOf(size: number): {
  reader: RecordReader;
  resources: number;
  bytes: number;
} {
  const samples = loadSamplePatients().flatMap((sample) =>
    deliveriesOfSample(sample).flatMap(({ resources }) =>
      resources.map((content) => JSON.stringify(content)),
    ),
  );
  const parsed = samples.map((text) => {
    const content = JSON.parse(text) as Json;
    return {
      text,
      type: String(content.resourceType),
      sortDate: clinicalTime(content).sortDate,
    };
  });
  const ordered = parsed
    .filter(({ type }) => type !== 'Patient')
    .sort((left, right) => (left.sortDate < right.sortDate ? 1 : -1));
  const round = ordered.reduce((sum, { text }) => sum + text.length, 0);
  const rounds = Math.ceil(size / round);
  const counts: Record<string, number> = {};
  for (const { type } of ordered) counts[type] = (counts[type] ?? 0) + rounds;
  const patient = parsed.find(({ type }) => type === 'Patient');
  return {
    resources: ordered.length * rounds + 1,
    bytes: round * rounds,
    reader: {
      counts,
      async *read(types) {
        if (types.includes('Patient') && patient !== undefined)
          yield resourceOf(patient.text, 0);
        for (const each of ordered) {
          if (!types.includes(each.type)) continue;
          // As between two pages of the database.
          await setImmediate();
          for (let number = 0; number < rounds; number += 1)
            yield resourceOf(each.text, number);
        }
      },
    },
  };
}

function resourceOf(text: string, number: number): ConsolidatedResource {
  const content = JSON.parse(text);
  const id = `${content.id}-${number}`;
  return {
    id,
    resourceType: content.resourceType,
    content: { ...content, id },
    origins: [
      {
        source: 'hie',
        sourceId: id,
        fileName: '',
        collectedAt: new Date(0),
        isConverted: false,
      },
    ],
  } as unknown as ConsolidatedResource;
}
