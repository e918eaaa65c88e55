import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { bulkCreateStatusAnswerSchema, bulkPatientCreateSchema } from './bulk-create.ts';
import { endpoint } from './endpoint.ts';
import { byRequestId, idempotency, pageMetaSchema } from './endpoint-parts.ts';
import { pageQuery } from './paging.ts';

const reference = 'Operations around E1–E14';
/** Columns that the list of bulk creates can be sorted by; newest first when none is given. */
export const BULK_CREATE_SORT = ['createdAt', 'requestId'] as const;

const booleanParameter = z.union([
  z.boolean(),
  z.enum(['true', 'false'], { error: 'expected true or false' }).transform((value) => value === 'true'),
]);

export const bulkCreateEndpoints = {
  startBulkCreate: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk',
    reference: 'E5',
    tag: 'bulk create',
    summary: 'Bulk patient create',
    description:
      'Answers a URL for the CSV: PUT it there within 10 minutes, once, with `Content-Type: text/csv` and your `x-api-key`. Each row creates a patient or updates the one it matches; then the queries of all of them are started. No body is read.',
    query: z.object({
      facilityId: z.string().min(1, { error: 'is empty' }).max(TEXT_LENGTH_MAX).optional().meta({
        description:
          'For every patient whose row names no facility. May be left out when you have exactly one facility.',
      }),
      dryRun: booleanParameter.default(false).meta({
        description: 'Only check: no patient is written, and the result tells what would become of each row.',
      }),
    }),
    headers: idempotency,
    responses: { 200: bulkPatientCreateSchema },
    errors: [404],
  }),
  getBulkCreate: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/bulk/:requestId',
    reference,
    tag: 'bulk create',
    summary: 'Bulk create status',
    description: 'Counts while it runs; a link to the result CSV when it is completed.',
    params: byRequestId,
    responses: { 200: bulkCreateStatusAnswerSchema },
    errors: [404],
  }),
  listBulkCreates: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/bulk',
    reference,
    tag: 'bulk create',
    summary: 'List bulk creates',
    description: 'Newest first. Without the links to the results, which "bulk create status" gives.',
    query: pageQuery({}, { sort: BULK_CREATE_SORT }),
    responses: {
      200: z.object({ bulkCreates: z.array(bulkCreateStatusAnswerSchema), meta: pageMetaSchema }),
    },
  }),
  pauseBulkCreate: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/pause',
    reference,
    tag: 'bulk create',
    summary: 'Pause a bulk create',
    description:
      'Rows that were handled stay. 409 when no file has come yet, when it is paused, or has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: bulkCreateStatusAnswerSchema },
    errors: [404],
  }),
  resumeBulkCreate: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/resume',
    reference,
    tag: 'bulk create',
    summary: 'Resume a bulk create',
    description: 'Goes on after the last row that was handled. 409 when it is not paused.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: bulkCreateStatusAnswerSchema },
    errors: [404],
  }),
  cancelBulkCreate: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/cancel',
    reference,
    tag: 'bulk create',
    summary: 'Cancel a bulk create',
    description:
      'The request ends as `failed` with the reason "cancelled"; patients written until then stay, and no queries are started. 409 when it has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: bulkCreateStatusAnswerSchema },
    errors: [404],
  }),
} as const;
