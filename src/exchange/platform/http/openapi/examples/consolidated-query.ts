import type { consolidatedEndpoints } from '../../../../../contract/consolidated-query-endpoints.ts';
import { AT, IDS, type OperationExamples } from './example.ts';

const id = IDS.patient;
const STARTED_AT = '2026-11-21T15:04:05Z';
const filter = { resources: 'Condition,Observation', dateFrom: '2025-01-01', dateTo: '2026-11-21' };
const query = { requestId: IDS.consolidatedQuery, status: 'processing', startedAt: STARTED_AT };

const origin = {
  source: 'lab',
  sourceId: '8f3a1c',
  fileName: `lab-${IDS.document}.json`,
  fromDocument: false,
  collectedAt: AT,
  leads: true,
  split: false,
  unitedBy: [{ key: 'content', reason: 'The content that identifies a resource of this type is the same.' }],
};
const origins = {
  resourceType: 'Observation',
  id: IDS.resource,
  origins: [
    origin,
    { ...origin, source: 'hie', sourceId: 'a91', fileName: `hie-${IDS.document}.json`, leads: false },
  ],
};
const record = { id, resourceId: IDS.resource };

export const consolidatedExamples: OperationExamples<keyof typeof consolidatedEndpoints> = {
  startConsolidatedQuery: {
    params: { id },
    query: { ...filter, conversionType: 'pdf' },
    answer: {
      ...query,
      conversionType: 'pdf',
      resources: ['Condition', 'Observation'],
      dateFrom: filter.dateFrom,
      dateTo: filter.dateTo,
    },
  },
  listConsolidatedQueries: {
    params: { id },
    answer: {
      status: 'processing',
      message:
        'To start a new query, POST to /patient/:id/consolidated/query; its data is delivered by webhook (medical.consolidated-data).',
      queries: [{ ...query, conversionType: 'json', resources: ['Condition'] }],
    },
  },
  getConsolidatedQuery: {
    params: { id, requestId: IDS.consolidatedQuery },
    answer: { ...query, conversionType: 'json' },
  },
  getConsolidated: {
    params: { id },
    query: filter,
    answer: {
      resourceType: 'Bundle',
      type: 'searchset',
      timestamp: AT,
      total: 1,
      entry: [
        {
          resource: {
            resourceType: 'Condition',
            id: IDS.resource,
            meta: { source: 'hie' },
            clinicalStatus: {
              coding: [
                { system: 'http://terminology.hl7.org/CodeSystem/condition-clinical', code: 'active' },
              ],
            },
            code: {
              coding: [
                { system: 'http://snomed.info/sct', code: '44054006', display: 'Diabetes mellitus type 2' },
              ],
            },
            subject: { reference: `Patient/${id}` },
          },
        },
      ],
    },
  },
  countConsolidated: {
    params: { id },
    query: filter,
    answer: { total: 43, resources: { Condition: 6, Observation: 37 }, filter },
  },
  getRecordOrigins: { params: record, answer: origins },
  getRecordConformance: {
    params: { id },
    answer: {
      patientId: id,
      resources: 44,
      claiming: 43,
      summary:
        '43 of 44 entries meet the US standard for health records (US Core); in 2 entries a source left something out, or wrote it in another form.',
      profiles: [
        {
          profile: 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-medicationrequest|8.0.0',
          resources: 2,
        },
      ],
      defects: [
        {
          resourceType: 'MedicationRequest',
          profile: 'us-core-medicationrequest',
          element: 'requester',
          handling: 'stated-as-unknown',
          resources: 2,
          sources: ['pharmacy'],
          text: '2 prescriptions without who ordered it; the record says that it is unknown.',
        },
      ],
      withoutProfile: [{ resourceType: 'SupplyDelivery', resources: 1 }],
    },
  },
  splitRecordResource: {
    params: record,
    body: { source: 'lab', sourceId: '8f3a1c' },
    answer: { ...origins, origins: [{ ...origin, split: true, unitedBy: [] }] },
  },
  joinRecordResource: { params: record, answer: origins },
};
