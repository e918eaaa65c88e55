import { z } from 'zod';
import {
  CONSOLIDATED_STATUSES,
  CONVERSION_TYPES,
  consolidatedQuerySchema,
  fhirBundleSchema,
  oneConsolidatedQuerySchema,
  recordQuery,
  startConsolidatedBodySchema,
} from './consolidated-query.ts';
import { endpoint } from './endpoint.ts';
import { byId } from './endpoint-parts.ts';
import { idSchema } from './primitives.ts';
import { recordConformanceSchema } from './record-conformance.ts';
import { recordOriginsSchema, splitDeliverySchema } from './record-origins.ts';

export const consolidatedEndpoints = {
  startConsolidatedQuery: endpoint('POST /medical/v1/patient/:id/consolidated/query', {
    params: byId,
    query: recordQuery({ conversionType: z.enum(CONVERSION_TYPES).default('json') }),
    body: startConsolidatedBodySchema,
    responses: { 200: consolidatedQuerySchema },
    errors: [404],
  }),
  listConsolidatedQueries: endpoint('GET /medical/v1/patient/:id/consolidated/query', {
    params: byId,
    responses: {
      200: z.object({
        status: z.enum(CONSOLIDATED_STATUSES).nullable().meta({
          description: 'Status of the latest query, in progress or not; null if there has been none.',
        }),
        message: z.string(),
        queries: z.array(consolidatedQuerySchema),
      }),
    },
    errors: [404],
  }),
  getConsolidatedQuery: endpoint('GET /medical/v1/patient/:id/consolidated/query/:requestId', {
    params: z.object({ id: idSchema, requestId: idSchema }),
    responses: { 200: oneConsolidatedQuerySchema },
    errors: [404],
  }),
  getConsolidated: endpoint('GET /medical/v1/patient/:id/consolidated', {
    params: byId,
    query: recordQuery({}),
    mediaType: 'application/fhir+json',
    responses: { 200: fhirBundleSchema },
    errors: [404],
  }),
  countConsolidated: endpoint('GET /medical/v1/patient/:id/consolidated/count', {
    params: byId,
    query: recordQuery({}),
    responses: {
      200: z.object({
        total: z.number().int(),
        resources: z.record(z.string(), z.number().int()),
        filter: z.object({
          resources: z.string().meta({ description: '`all`, or the requested resource types.' }),
          dateFrom: z.string().optional(),
          dateTo: z.string().optional(),
        }),
      }),
    },
    errors: [404],
  }),
  getRecordOrigins: endpoint('GET /medical/v1/patient/:id/record/:resourceId/origins', {
    params: z.object({ id: idSchema, resourceId: idSchema }),
    responses: { 200: recordOriginsSchema },
    errors: [404],
  }),
  getRecordConformance: endpoint('GET /medical/v1/patient/:id/record/conformance', {
    params: byId,
    responses: { 200: recordConformanceSchema },
    errors: [404],
  }),
  splitRecordResource: endpoint('POST /medical/v1/patient/:id/record/:resourceId/split', {
    params: z.object({ id: idSchema, resourceId: idSchema }),
    body: splitDeliverySchema,
    responses: { 200: recordOriginsSchema },
    errors: [404],
  }),
  joinRecordResource: endpoint('POST /medical/v1/patient/:id/record/:resourceId/join', {
    params: z.object({ id: idSchema, resourceId: idSchema }),
    responses: { 200: recordOriginsSchema },
    errors: [404],
  }),
} as const;
