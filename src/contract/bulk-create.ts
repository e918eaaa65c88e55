import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import { errorBodySchema } from './errors.ts';
import { eventMetaOf } from './event-meta.ts';
import { pageMetaSchema, pageQuery } from './paging.ts';
import { component, described, idSchema, instantSchema } from './primitives.ts';
import { querySweepSchema } from './query-sweep.ts';

/** docs/interface.md, Bulk patient create status. */
export const BULK_CREATE_STATUSES = [
  'waiting',
  'processing',
  'completed',
  'failed',
  'expired',
] as const;
export const bulkCreateStatusSchema = z.enum(BULK_CREATE_STATUSES);
export type BulkCreateStatus = z.output<typeof bulkCreateStatusSchema>;

/** How long an upload URL is valid (docs/interface.md, E5). */
export const UPLOAD_URL_MINUTES = 10;
/**
 * Maximum size of the CSV in bytes. For scale: 100,000 rows with every column
 * filled take about 200 MB.
 */
export const UPLOAD_BYTES_MAX = 1024 ** 3;

const request = {
  requestId: idSchema,
  facilityId: idSchema,
  params: z.object({ dryRun: z.boolean() }),
  createdAt: instantSchema,
};

/** Response of E5 (docs/interface.md, BulkPatientCreate). */
export const bulkPatientCreateSchema = component('BulkPatientCreate', {
  ...request,
  status: z.literal('waiting'),
  uploadUrl: z.string(),
});
export type BulkPatientCreate = z.output<typeof bulkPatientCreateSchema>;

export const bulkCountsSchema = described('BulkCounts', {
  rows: z.number().int(),
  handled: z.number().int(),
  created: z.number().int(),
  updated: z.number().int(),
  failed: z.number().int(),
}).meta({
  id: 'BulkCounts',
  description:
    'Row counts. In a dry run, `created` and `updated` count what would be created and updated.',
});
/**
 * The one declaration of a bulk create's row counts. Workflow code imports the
 * type only.
 */
export type BulkCounts = z.output<typeof bulkCountsSchema>;

export const bulkCreateStatusResponseSchema = component(
  'BulkPatientCreateProgress',
  {
    ...request,
    status: bulkCreateStatusSchema,
    paused: z.literal(true).optional(),
    counts: bulkCountsSchema,
    rowsPerSecond: z.number().optional(),
    secondsLeft: z.number().int().optional(),
    result: z.string().optional(),
    reason: z.string().optional(),
    sweep: querySweepSchema.optional(),
  },
);
export type BulkCreateStatusResponse = z.output<
  typeof bulkCreateStatusResponseSchema
>;

/** Response of `PUT {uploadUrl}`. */
export const bulkUploadSchema = component('BulkUpload', {
  requestId: idSchema,
  status: bulkCreateStatusSchema,
  /** SHA-256 of the bytes received, in hex. */
  sha256: z.string(),
  sizeBytes: z.number().int(),
});
export type BulkUpload = z.output<typeof bulkUploadSchema>;

/**
 * Response 409 of a second PUT. It describes the upload already stored, so that
 * a client that lost the first response can check that its own file is the one
 * that arrived.
 */
export const uploadConflictSchema = errorBodySchema.extend({
  upload: bulkUploadSchema,
});

export const BULK_CREATE_EVENT_TYPE = 'medical.bulk-patient-create';

/**
 * Sent when processing of a request starts, completes or fails; not when the
 * request expires.
 */
export const bulkCreateEventSchema = component('BulkPatientCreateEvent', {
  meta: eventMetaOf(z.literal(BULK_CREATE_EVENT_TYPE)),
  bulkPatientCreate: described('BulkPatientCreateEvent.bulkPatientCreate', {
    requestId: idSchema,
    status: z.enum(['processing', 'completed', 'failed']),
    result: z.string().optional(),
    reason: z.string().optional(),
  }),
});
export type BulkCreateEvent = z.output<typeof bulkCreateEventSchema>;

/**
 * Columns by which the list of bulk creates can be sorted; without `sort`,
 * newest first.
 */
export const BULK_CREATE_SORT = ['createdAt', 'requestId'] as const;

const booleanParameter = z.union([
  z.boolean(),
  z
    .enum(['true', 'false'], { error: 'expected true or false' })
    .transform((value) => value === 'true'),
]);

export const bulkCreateEndpoints = {
  startBulkCreate: endpoint(
    'POST /medical/v1/patient/bulk',
    bulkPatientCreateSchema,
    {
      query: described('startBulkCreate query', {
        facilityId: z
          .string()
          .min(1, { error: 'is empty' })
          .max(TEXT_LENGTH_MAX)
          .optional(),
        dryRun: booleanParameter.default(false),
      }),
      errors: [404],
    },
  ),
  getBulkCreate: endpoint(
    'GET /medical/v1/patient/bulk/:requestId',
    bulkCreateStatusResponseSchema,
  ),
  listBulkCreates: endpoint('GET /medical/v1/patient/bulk', {
    query: pageQuery(BULK_CREATE_SORT),
    responses: {
      200: z.object({
        bulkCreates: z.array(bulkCreateStatusResponseSchema),
        meta: pageMetaSchema,
      }),
    },
  }),
  pauseBulkCreate: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/pause',
    bulkCreateStatusResponseSchema,
  ),
  resumeBulkCreate: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/resume',
    bulkCreateStatusResponseSchema,
  ),
  cancelBulkCreate: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/cancel',
    bulkCreateStatusResponseSchema,
  ),
} as const;
