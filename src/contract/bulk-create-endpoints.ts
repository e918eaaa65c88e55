import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { bulkCreateStatusResponseSchema, bulkPatientCreateSchema } from './bulk-create.ts';
import { endpoint } from './endpoint.ts';
import { byRequestId, idempotency, pageMetaSchema } from './endpoint-parts.ts';
import { pageQuery } from './paging.ts';

const reference = 'Operations around E1–E14';
/** Columns by which the list of bulk creates can be sorted; without `sort`, newest first. */
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
      'Returns an upload URL for the CSV. PUT the file to it once, within 10 minutes, with `Content-Type: text/csv` and your `x-api-key`. Each row creates a patient or updates the patient it matches; when all rows are processed, a network query is started for each of these patients. A request body is ignored.',
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
    description: 'Row counts while the request is processed; a link to the result CSV once it is completed.',
    params: byRequestId,
    responses: { 200: bulkCreateStatusResponseSchema },
    errors: [404],
  }),
  listBulkCreates: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/bulk',
    reference,
    tag: 'bulk create',
    summary: 'List bulk creates',
    description: 'Newest first. The list contains no links to results; get them with "Bulk create status".',
    query: pageQuery({}, { sort: BULK_CREATE_SORT }),
    responses: {
      200: z.object({ bulkCreates: z.array(bulkCreateStatusResponseSchema), meta: pageMetaSchema }),
    },
  }),
  pauseBulkCreate: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/pause',
    reference,
    tag: 'bulk create',
    summary: 'Pause a bulk create',
    description:
      'Rows already processed remain. 409 if no file has been uploaded yet, or if the request is already paused or has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: bulkCreateStatusResponseSchema },
    errors: [404],
  }),
  resumeBulkCreate: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/resume',
    reference,
    tag: 'bulk create',
    summary: 'Resume a bulk create',
    description: 'Continues after the last row processed. 409 if the request is not paused.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: bulkCreateStatusResponseSchema },
    errors: [404],
  }),
  cancelBulkCreate: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/cancel',
    reference,
    tag: 'bulk create',
    summary: 'Cancel a bulk create',
    description:
      'The request ends as `failed` with the reason "cancelled". Patients already written remain, and no queries are started. 409 if the request has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: bulkCreateStatusResponseSchema },
    errors: [404],
  }),
} as const;
