import type { FhirResource } from 'fhir/r4.js';
import type { SourceConnector, SourcePage } from '../../src/exchange/sources/connector.ts';

const resources = ['a', 'b', 'c'].map(
  (id): FhirResource => ({ resourceType: 'Observation', id, status: 'final', code: { text: `value ${id}` } }),
);

const page: SourcePage = {
  resources,
  patientIds: [],
  raw: { bytes: Buffer.from(JSON.stringify(resources)), contentType: 'application/fhir+json' },
  attachments: [],
  skippedAttachments: 0,
  misattributedCount: 0,
  retracted: [],
  reportedErrors: 0,
  next: null,
};

async function* pages(): AsyncGenerator<SourcePage> {
  yield page;
}

/** A source that answers at once with one small page. */
export const threeObservations: SourceConnector = {
  begin: async () => ({ kind: 'ready', pages: pages() }),
  resume: () => pages(),
  poll: () => Promise.reject(new Error('there is no job')),
  checkMissing: async ({ missing }) => missing.map(() => 'kept' as const),
  cancel: async () => undefined,
};
