import type { FhirResource } from 'fhir/r4.js';
import { recordOf, type SummaryPart, summarise } from '#record-summary';
import {
  type RecordCompleteness,
  standingForReaders,
} from '../../src/exchange/records/reading/completeness.ts';
import type { ConsolidatedFilter } from '../../src/exchange/records/reading/read-consolidated.ts';
import type { PatientRecord } from '../../src/exchange/records/reading/record-reader.ts';
import { sourceName } from '../../src/exchange/records/reading/source-names.ts';
import { deliveriesOf, patientIdsOf, personOf, samples } from './deliveries.ts';
import { mergeDeliveries } from './merge-deliveries.ts';

export {
  gather,
  PATIENT,
  rowsOf,
} from '../../packages/record-summary/test/records.ts';

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

/**
 * A record in memory, in the order of the real reader; of two resources of one
 * time, the later one of `contents` first.
 */
export function readerOf(
  contents: readonly object[],
  source: 'hie' | 'lab' = 'hie',
  standing: RecordCompleteness = ANSWERED,
): PatientRecord {
  const record = recordOf(
    contents.toReversed().map((content) => ({
      content: content as FhirResource,
      origins: [{ source: sourceName(source) }],
    })),
    standingForReaders(standing),
  );
  return { ...record, standing };
}

export function sampleReader(key: string): PatientRecord {
  const sample = samples.find((each) => each.key === key);
  if (sample === undefined) throw new Error(`there is no sample ${key}`);
  const { resources } = mergeDeliveries(
    personOf(sample),
    deliveriesOf(sample),
    patientIdsOf(sample),
  );
  return readerOf(resources);
}

export const MADE_AT = new Date('2026-11-21T12:00:00Z');

export const partsOf = (
  reader: PatientRecord,
  filter: ConsolidatedFilter = {},
): AsyncGenerator<SummaryPart> =>
  summarise(reader, { filter, madeAt: MADE_AT });
