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
      "Puts the patient's merged record together, as FHIR or as a medical record summary (html, pdf), and sends a link to it by the webhook `medical.consolidated-data`. While a query with the same parameters runs, that one is answered. It reads what has been collected; it asks no source.",
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
        status: z
          .enum(CONSOLIDATED_STATUSES)
          .nullable()
          .meta({ description: "The latest query's, in progress or not; null when there was none." }),
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
      'Its status and, when it is completed, a link to its result, as the webhook `medical.consolidated-data` gave one. Results are kept for a week.',
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
      "The patient's merged record as it stands, as a FHIR searchset Bundle, streamed. Each resource's origin is in a Provenance right after it.",
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
    description: 'How many resources of each type "get consolidated data" would give, without Provenance.',
    params: byId,
    query: recordQuery({}),
    responses: {
      200: z.object({
        total: z.number().int(),
        resources: z.record(z.string(), z.number().int()),
        filter: z.object({
          resources: z.string().meta({ description: '`all`, or the types asked for.' }),
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
      'Every delivery behind a resource of the merged record: where it came from, its version at the source, which one leads, and which keys united it with the others. The id alone names the resource, as "get consolidated data" gives it.',
    params: z.object({ id: idSchema, resourceId: idSchema }),
    responses: { 200: recordOriginsSchema },
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
