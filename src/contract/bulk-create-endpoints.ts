import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { bulkCreateStatusResponseSchema, bulkPatientCreateSchema } from './bulk-create.ts';
import { endpoint } from './endpoint.ts';
import { byRequestId, pageMetaSchema } from './endpoint-parts.ts';
import { pageQuery } from './paging.ts';

/** Columns by which the list of bulk creates can be sorted; without `sort`, newest first. */
export const BULK_CREATE_SORT = ['createdAt', 'requestId'] as const;

const booleanParameter = z.union([
  z.boolean(),
  z.enum(['true', 'false'], { error: 'expected true or false' }).transform((value) => value === 'true'),
]);

export const bulkCreateEndpoints = {
  startBulkCreate: endpoint('POST /medical/v1/patient/bulk', {
    query: z.object({
      facilityId: z.string().min(1, { error: 'is empty' }).max(TEXT_LENGTH_MAX).optional().meta({
        description:
          'Facility of every patient whose row names none. Optional if your account has exactly one facility.',
      }),
      dryRun: booleanParameter.default(false).meta({
        description:
          'Validate only: no patient is written, and the result states what would happen to each row.',
      }),
    }),
    responses: { 200: bulkPatientCreateSchema },
    errors: [404],
  }),
  getBulkCreate: endpoint('GET /medical/v1/patient/bulk/:requestId', {
    params: byRequestId,
    responses: { 200: bulkCreateStatusResponseSchema },
    errors: [404],
  }),
  listBulkCreates: endpoint('GET /medical/v1/patient/bulk', {
    query: pageQuery({}, { sort: BULK_CREATE_SORT }),
    responses: {
      200: z.object({ bulkCreates: z.array(bulkCreateStatusResponseSchema), meta: pageMetaSchema }),
    },
  }),
  pauseBulkCreate: endpoint('POST /medical/v1/patient/bulk/:requestId/pause', {
    params: byRequestId,
    responses: { 200: bulkCreateStatusResponseSchema },
    errors: [404],
  }),
  resumeBulkCreate: endpoint('POST /medical/v1/patient/bulk/:requestId/resume', {
    params: byRequestId,
    responses: { 200: bulkCreateStatusResponseSchema },
    errors: [404],
  }),
  cancelBulkCreate: endpoint('POST /medical/v1/patient/bulk/:requestId/cancel', {
    params: byRequestId,
    responses: { 200: bulkCreateStatusResponseSchema },
    errors: [404],
  }),
} as const;
