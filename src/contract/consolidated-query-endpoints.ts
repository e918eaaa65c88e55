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
import { byId, idempotency } from './endpoint-parts.ts';
import { idSchema } from './primitives.ts';
import { recordConformanceSchema } from './record-conformance.ts';
import { recordOriginsSchema, splitDeliverySchema } from './record-origins.ts';

const reference = 'Operations around E1–E14';

export const consolidatedEndpoints = {
  startConsolidatedQuery: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/:id/consolidated/query',
    reference,
    tag: 'consolidated data',
    summary: 'Start consolidated query',
    description:
      "Assembles the patient's consolidated record as FHIR or as a medical record summary (html, pdf), and sends a link to it with the webhook `medical.consolidated-data`. If a query with the same parameters is in progress, returns that query. It reads only data already collected and queries no source.",
    params: byId,
    query: recordQuery({ conversionType: z.enum(CONVERSION_TYPES).default('json') }),
    headers: idempotency,
    body: startConsolidatedBodySchema,
    responses: { 200: consolidatedQuerySchema },
    errors: [404],
  }),
  listConsolidatedQueries: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id/consolidated/query',
    reference: 'E13',
    tag: 'consolidated data',
    summary: 'Get consolidated data query status',
    description: 'The queries in progress, newest first.',
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
  getConsolidatedQuery: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id/consolidated/query/:requestId',
    reference,
    tag: 'consolidated data',
    summary: 'Get one consolidated query',
    description:
      'The status of the query and, once it is completed, a link to its result, like the one in the webhook `medical.consolidated-data`. Results are kept for one week.',
    params: z.object({ id: idSchema, requestId: idSchema }),
    responses: { 200: oneConsolidatedQuerySchema },
    errors: [404],
  }),
  getConsolidated: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id/consolidated',
    reference,
    tag: 'consolidated data',
    summary: 'Get consolidated data',
    description:
      "The patient's current consolidated record as a FHIR searchset Bundle, streamed. Each resource is followed by a Provenance that states its origins.",
    params: byId,
    query: recordQuery({}),
    mediaType: 'application/fhir+json',
    responses: { 200: fhirBundleSchema },
    errors: [404],
  }),
  countConsolidated: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id/consolidated/count',
    reference,
    tag: 'consolidated data',
    summary: 'Count consolidated data',
    description:
      'The number of resources of each type that "Get consolidated data" would return, not counting Provenance.',
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
  getRecordOrigins: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id/record/:resourceId/origins',
    reference,
    tag: 'consolidated data',
    summary: 'Get the origins of a consolidated resource',
    description:
      'Every delivery that a resource of the consolidated record was merged from: its source, its version at the source, which delivery takes precedence, and by which keys it was matched with the others. `resourceId` is the id that "Get consolidated data" returns.',
    params: z.object({ id: idSchema, resourceId: idSchema }),
    responses: { 200: recordOriginsSchema },
    errors: [404],
  }),
  getRecordConformance: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id/record/conformance',
    reference,
    tag: 'consolidated data',
    summary: 'Get the conformance of a record',
    description:
      "How the patient's consolidated record conforms to US Core: which profiles its resources claim, and what the sources left out or wrote in a form that a profile does not allow, by type, profile and element.",
    params: byId,
    responses: { 200: recordConformanceSchema },
    errors: [404],
  }),
  splitRecordResource: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/:id/record/:resourceId/split',
    reference,
    tag: 'consolidated data',
    summary: 'Split a delivery from a consolidated resource',
    description:
      'For deliveries that were united although they are two facts: the delivery becomes a resource of its own and stays one, also when its source delivers it again. Answers the origins of that resource. 409 for a Patient, and for a resource with one delivery.',
    params: z.object({ id: idSchema, resourceId: idSchema }),
    headers: idempotency,
    body: splitDeliverySchema,
    responses: { 200: recordOriginsSchema },
    errors: [404],
  }),
  joinRecordResource: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/:id/record/:resourceId/join',
    reference,
    tag: 'consolidated data',
    summary: 'Undo a split',
    description:
      'The resource that a split made is united again with what it agrees with. Answers the origins of the resource that it is part of now. 409 for a resource that no split made.',
    params: z.object({ id: idSchema, resourceId: idSchema }),
    headers: idempotency,
    responses: { 200: recordOriginsSchema },
    errors: [404],
  }),
} as const;
