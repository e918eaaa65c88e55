import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { errorBodySchema } from './errors.ts';
import { eventMetaOf } from './event-meta.ts';
import { pageMetaSchema, pageQuery } from './paging.ts';
import { component, idSchema, instantSchema } from './primitives.ts';
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
  uploadUrl: z
    .string()
    .describe(
      'PUT the CSV to this URL once, within 10 minutes, with `Content-Type: text/csv`, your `x-api-key` and the file as the body.',
    ),
});
export type BulkPatientCreate = z.output<typeof bulkPatientCreateSchema>;

export const bulkCountsSchema = z
  .object({
    rows: z
      .number()
      .int()
      .describe('Rows of the file; 0 until its format has been checked.'),
    handled: z.number().int(),
    created: z.number().int(),
    updated: z.number().int(),
    failed: z.number().int(),
  })
  .meta({
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
    paused: z
      .literal(true)
      .optional()
      .describe('Present while the request is paused.'),
    counts: bulkCountsSchema,
    rowsPerSecond: z
      .number()
      .optional()
      .describe('Average processing rate, not counting pauses.'),
    secondsLeft: z
      .number()
      .int()
      .optional()
      .describe(
        'Estimated remaining time. Present while rows are being processed.',
      ),
    result: z
      .string()
      .optional()
      .describe(
        'Link to the result CSV, valid for one hour. Each "Bulk create status" request returns a new link.',
      ),
    reason: z.string().optional().describe('Why the request failed.'),
    sweep: querySweepSchema
      .optional()
      .describe(
        'Post-import queries of its patients. Present once they are being started.',
      ),
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
  bulkPatientCreate: z.object({
    requestId: idSchema,
    status: z.enum(['processing', 'completed', 'failed']),
    result: z
      .string()
      .optional()
      .describe('Link to the result CSV. Present if the request is completed.'),
    reason: z
      .string()
      .optional()
      .describe('Why the request failed. Present if it failed.'),
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
    {
      tag: 'bulk create',
      reference: 'E5',
      summary: 'Bulk patient create',
      description:
        'Returns an upload URL for the CSV. PUT the file to it once, within 10 minutes, with `Content-Type: text/csv` and your `x-api-key`. Each row creates a patient or updates the patient it matches; when all rows are processed, a network query is started for each of these patients. A request body is ignored.',
    },
    bulkPatientCreateSchema,
    {
      query: z.object({
        facilityId: z
          .string()
          .min(1, { error: 'is empty' })
          .max(TEXT_LENGTH_MAX)
          .optional()
          .describe(
            'Facility of every patient whose row names none. Optional if your account has exactly one facility.',
          ),
        dryRun: booleanParameter
          .default(false)
          .describe(
            'Validate only: no patient is written, and the result states what would happen to each row.',
          ),
      }),
      errors: [404],
    },
  ),
  getBulkCreate: endpoint(
    'GET /medical/v1/patient/bulk/:requestId',
    {
      tag: 'bulk create',
      reference: 'Operations around E1–E14',
      summary: 'Bulk create status',
      description:
        'Row counts while the request is processed; a link to the result CSV once it is completed.',
    },
    bulkCreateStatusResponseSchema,
  ),
  listBulkCreates: endpoint(
    'GET /medical/v1/patient/bulk',
    {
      tag: 'bulk create',
      reference: 'Operations around E1–E14',
      summary: 'List bulk creates',
      description:
        'Newest first. The list contains no links to results; get them with "Bulk create status".',
    },
    {
      query: pageQuery(BULK_CREATE_SORT),
      responses: {
        200: z.object({
          bulkCreates: z.array(bulkCreateStatusResponseSchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  pauseBulkCreate: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/pause',
    {
      tag: 'bulk create',
      reference: 'Operations around E1–E14',
      summary: 'Pause a bulk create',
      description:
        'Rows already processed remain. 409 if no file has been uploaded yet, or if the request is already paused or has ended.',
    },
    bulkCreateStatusResponseSchema,
  ),
  resumeBulkCreate: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/resume',
    {
      tag: 'bulk create',
      reference: 'Operations around E1–E14',
      summary: 'Resume a bulk create',
      description:
        'Continues after the last row processed. 409 if the request is not paused.',
    },
    bulkCreateStatusResponseSchema,
  ),
  cancelBulkCreate: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/cancel',
    {
      tag: 'bulk create',
      reference: 'Operations around E1–E14',
      summary: 'Cancel a bulk create',
      description:
        'The request ends as `failed` with the reason "cancelled". Patients already written remain, and no queries are started. 409 if the request has ended.',
    },
    bulkCreateStatusResponseSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const bulkCreateExamples = {
  startBulkCreate: {
    query: {
      facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      dryRun: false,
    },
    answer: {
      requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
      facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      params: { dryRun: false },
      createdAt: '2026-11-21T15:04:05.000Z',
      status: 'waiting',
      uploadUrl:
        'https://exchange.example.org/links/bulk-upload/AaICCIpDdh6oNC66',
    },
  },

  getBulkCreate: {
    params: { requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718' },
    answer: {
      requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
      facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      params: { dryRun: false },
      createdAt: '2026-11-21T15:04:05.000Z',
      status: 'completed',
      counts: {
        rows: 1200,
        handled: 1200,
        created: 1109,
        updated: 84,
        failed: 7,
      },
      result: 'https://exchange.example.org/links/bulk-result/AaICCIpDdh6oNC66',
    },
  },

  listBulkCreates: {
    query: { count: 50 },
    answer: {
      bulkCreates: [
        {
          requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
          facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
          params: { dryRun: false },
          createdAt: '2026-11-21T15:04:05.000Z',
          status: 'completed',
          counts: {
            rows: 1200,
            handled: 1200,
            created: 1109,
            updated: 84,
            failed: 7,
          },
        },
      ],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },

  pauseBulkCreate: {
    params: { requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718' },
    answer: {
      requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
      facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      params: { dryRun: false },
      createdAt: '2026-11-21T15:04:05.000Z',
      status: 'processing',
      counts: {
        rows: 1200,
        handled: 400,
        created: 371,
        updated: 26,
        failed: 3,
      },
      paused: true,
    },
  },

  resumeBulkCreate: {
    params: { requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718' },
    answer: {
      requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
      facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      params: { dryRun: false },
      createdAt: '2026-11-21T15:04:05.000Z',
      status: 'processing',
      counts: {
        rows: 1200,
        handled: 400,
        created: 371,
        updated: 26,
        failed: 3,
      },
    },
  },

  cancelBulkCreate: {
    params: { requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718' },
    answer: {
      requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
      facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      params: { dryRun: false },
      createdAt: '2026-11-21T15:04:05.000Z',
      status: 'failed',
      counts: {
        rows: 1200,
        handled: 400,
        created: 371,
        updated: 26,
        failed: 3,
      },
      reason: 'cancelled',
    },
  },
} satisfies ExamplesOf<typeof bulkCreateEndpoints>;
