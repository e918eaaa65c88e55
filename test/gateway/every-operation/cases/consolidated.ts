import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { consolidatedEndpoints } from '../../../../src/contract/consolidated-query.ts';
import {
  insertDocuments,
  insertSourcePatientIds,
  upsertResources,
} from '../../../../src/exchange/records/deliveries/delivery-store.ts';
import { mergeBatch } from '../../../../src/exchange/records/merge/merge-batch.ts';
import { resourceOfDelivery } from '../../../../src/exchange/records/merge/splits.ts';
import {
  type Build,
  badBody,
  badQuery,
  type OperationCases,
  type Refused,
} from '../operation-cases.ts';
import type { World } from '../world.ts';

const ofPatient: Build = async ({ make }) => ({
  params: { id: await make.patient() },
  query: {
    resources: 'Condition,Observation',
    dateFrom: '2020-01-01',
    dateTo: '2020-01-01',
  },
});

const FILTERS: Refused[] = [
  badQuery(
    { resources: 'Condition,Illness' },
    'resources',
    '"Illness" is not a supported resource type',
  ),
  badQuery({ resources: '' }, 'resources', 'empty name'),
  badQuery(
    { dateFrom: '2020-02-30' },
    'dateFrom',
    'not a date in the format YYYY-MM-DD',
  ),
  badQuery({ dateFrom: '0000-01-01' }, 'dateFrom', 'before the year 1'),
  badQuery(
    { dateTo: 'today' },
    'dateTo',
    'not a date in the format YYYY-MM-DD',
  ),
  badQuery({ dateFrom: '2020-01-02' }, 'dateTo', 'before dateFrom'),
];

export const consolidatedCases: Record<
  keyof typeof consolidatedEndpoints,
  OperationCases
> = {
  startConsolidatedQuery: {
    good: async (world) => {
      const { query, ...sent } = await ofPatient(world);
      return { ...sent, query: { ...query, conversionType: 'pdf' } };
    },
    more: [
      {
        what: 'metadata',
        status: 200,
        send: async ({ make }) => ({
          params: { id: await make.patient() },
          body: { metadata: { a: 'b' } },
        }),
        has: { status: 'processing', conversionType: 'json' },
      },
    ],
    refused: [
      ...FILTERS,
      badQuery({ conversionType: 'docx' }, 'conversionType', 'expected one of'),
      badBody({ metadata: { a: 1 } }, 'metadata.a', 'must be a string'),
    ],
  },
  listConsolidatedQueries: {
    good: async ({ make }) => {
      const id = await make.patient();
      await make.call(
        'POST',
        `patient/${id}/consolidated/query?resources=Condition`,
      );
      return { params: { id } };
    },
    more: [
      {
        what: 'a patient without queries',
        status: 200,
        send: async ({ make }) => ({ params: { id: await make.patient() } }),
        has: { status: null, queries: [] },
      },
    ],
  },
  getConsolidatedQuery: {
    good: async ({ make }) => {
      const id = await make.patient();
      const { requestId } = await make.call(
        'POST',
        `patient/${id}/consolidated/query`,
      );
      return { params: { id, requestId } };
    },
    refused: [
      {
        what: "another patient's query",
        status: 404,
        send: async ({ make }, good) => ({
          params: { ...good.params, id: await make.patient() },
        }),
        message: 'Consolidated query not found',
      },
    ],
  },
  getConsolidated: { good: ofPatient, refused: FILTERS },
  countConsolidated: { good: ofPatient, refused: FILTERS },
  getRecordOrigins: {
    good: async ({ make }) => {
      const id = await make.patient();
      return { params: { id, resourceId: id } };
    },
    refused: [
      {
        what: 'an id that the record does not have',
        status: 404,
        send: async ({ make }, good) => ({
          params: { ...good.params, resourceId: await make.patient() },
        }),
        message: 'Resource not found',
      },
    ],
  },
  getRecordConformance: { good: ofPatient, refused: [] },
  splitRecordResource: {
    good: async (world) => {
      const { id, resourceId } = await unitedIn(world);
      return {
        params: { id, resourceId },
        body: { source: 'lab', sourceId: 'result' },
      };
    },
    refused: [
      badBody(
        { source: 'hie', sourceId: '' },
        'sourceId',
        'must have at least 1 character',
      ),
      badBody(
        { source: 'hie', sourceId: 'other' },
        'sourceId',
        'is not a delivery of this resource',
      ),
      badBody(
        { source: 'moon', sourceId: 'result' },
        'source',
        'expected one of',
      ),
      {
        what: 'an id that the record does not have',
        status: 404,
        send: async ({ make }, good) => ({
          ...good,
          params: { ...good.params, resourceId: await make.patient() },
        }),
        message: 'Resource not found',
      },
      {
        what: 'a resource with one delivery',
        status: 409,
        send: async (world) => {
          const { id, own } = await splitIn(world);
          return {
            params: { id, resourceId: own },
            body: { source: 'lab', sourceId: 'result' },
          };
        },
        message: 'The resource has no other delivery to split this one from',
      },
    ],
  },
  joinRecordResource: {
    good: async (world) => {
      const { id, own } = await splitIn(world);
      return { params: { id, resourceId: own } };
    },
    refused: [
      {
        what: 'a resource that no split made',
        status: 409,
        send: async (world) => ({ params: await unitedIn(world) }),
        message: 'This resource was not split from another one',
      },
      {
        what: 'an id that the record does not have',
        status: 404,
        send: async ({ make }, good) => ({
          params: { ...good.params, resourceId: await make.patient() },
        }),
        message: 'Resource not found',
      },
    ],
  },
};

/** A result that two sources delivered, and that the merge has united. */
async function unitedIn({
  make,
  inAccount,
}: World): Promise<{ id: string; resourceId: string }> {
  const id: string = await make.patient();
  const result = {
    resourceType: 'Observation',
    id: 'result',
    status: 'final',
    subject: { reference: 'Patient/p' },
    code: { coding: [{ system: 'http://loinc.org', code: '718-7' }] },
    effectiveDateTime: '2024-05-01T10:00:00Z',
    valueQuantity: { value: 13.5, unit: 'g/dL' },
  };
  for (const source of ['hie', 'lab'] as const)
    await inAccount(async (tx) => {
      const documentId = uuidv7();
      const sha256 = createHash('sha256').update(source);
      await insertDocuments(tx, [
        {
          id: documentId,
          patientId: id,
          queryId: uuidv7(),
          source,
          kind: 'page',
          sizeBytes: 1,
          blobRef: 'x',
          fileName: `${source}-${documentId}.json`,
          contentType: 'application/fhir+json',
          sha256: sha256.copy().digest(),
        },
      ]);
      await insertSourcePatientIds(tx, id, source, ['p']);
      await upsertResources(tx, { patientId: id, source, documentId }, [
        {
          resourceType: 'Observation',
          sourceId: 'result',
          revision: '',
          sha256: sha256.digest('hex'),
          json: JSON.stringify(result),
        },
      ]);
      await mergeBatch(tx, id, [
        { source, resourceType: 'Observation', sourceId: 'result' },
      ]);
    });
  const resourceId = await inAccount((tx) =>
    resourceOfDelivery(tx, id, {
      source: 'lab',
      resourceType: 'Observation',
      sourceId: 'result',
    }),
  );
  return { id, resourceId: resourceId ?? '' };
}

async function splitIn(world: World): Promise<{ id: string; own: string }> {
  const { id, resourceId } = await unitedIn(world);
  const body = { source: 'lab', sourceId: 'result' };
  const answer = await world.make.call(
    'POST',
    `patient/${id}/record/${resourceId}/split`,
    body,
  );
  return { id, own: answer.id };
}
