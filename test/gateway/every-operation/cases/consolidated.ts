import type { consolidatedEndpoints } from '../../../../src/contract/consolidated-query-endpoints.ts';
import { type Build, badBody, badQuery, type OperationCases, type Refused } from '../operation-cases.ts';

const ofPatient: Build = async ({ make }) => ({
  params: { id: await make.patient() },
  query: { resources: 'Condition,Observation', dateFrom: '2020-01-01', dateTo: '2020-01-01' },
});

const FILTERS: Refused[] = [
  badQuery({ resources: 'Condition,Illness' }, 'resources', '"Illness" is none of its types'),
  badQuery({ resources: '' }, 'resources', 'empty name'),
  badQuery({ dateFrom: '2020-02-30' }, 'dateFrom', 'not a date of the form YYYY-MM-DD'),
  badQuery({ dateFrom: '0000-01-01' }, 'dateFrom', 'before the year 1'),
  badQuery({ dateTo: 'today' }, 'dateTo', 'not a date of the form YYYY-MM-DD'),
  badQuery({ dateFrom: '2020-01-02' }, 'dateTo', 'before dateFrom'),
];

export const consolidatedCases: Record<keyof typeof consolidatedEndpoints, OperationCases> = {
  startConsolidatedQuery: {
    good: async (world) => {
      const { query, ...sent } = await ofPatient(world);
      return { ...sent, query: { ...query, conversionType: 'pdf' } };
    },
    more: [
      {
        what: 'metadata',
        status: 200,
        send: async ({ make }) => ({ params: { id: await make.patient() }, body: { metadata: { a: 'b' } } }),
        has: { status: 'processing', conversionType: 'json' },
      },
    ],
    refused: [
      ...FILTERS,
      badQuery({ conversionType: 'docx' }, 'conversionType', 'expected one of'),
      badBody({ metadata: { a: 1 } }, 'metadata.a', 'is a string'),
    ],
  },
  listConsolidatedQueries: {
    good: async ({ make }) => {
      const id = await make.patient();
      await make.call('POST', `patient/${id}/consolidated/query?resources=Condition`);
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
      const { requestId } = await make.call('POST', `patient/${id}/consolidated/query`);
      return { params: { id, requestId } };
    },
    refused: [
      {
        what: "another patient's query",
        status: 404,
        send: async ({ make }, good) => ({ params: { ...good.params, id: await make.patient() } }),
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
        send: async ({ make }, good) => ({ params: { ...good.params, resourceId: await make.patient() } }),
        message: 'Resource not found',
      },
    ],
  },
};
