import { z } from 'zod';
import { errorBodySchema } from './errors.ts';
import { eventMetaOf } from './event-meta.ts';
import { idSchema, instantSchema } from './primitives.ts';
import { querySweepSchema } from './query-sweep.ts';

/** interface.md, Bulk patient create status. */
export const BULK_CREATE_STATUSES = ['waiting', 'processing', 'completed', 'failed', 'expired'] as const;
export const bulkCreateStatusSchema = z.enum(BULK_CREATE_STATUSES);
export type BulkCreateStatus = z.output<typeof bulkCreateStatusSchema>;

/** How long an upload URL may be used (interface.md, E5). */
export const UPLOAD_URL_MINUTES = 10;
/** Largest CSV, in bytes; 100,000 rows with every column filled take about 200 MB. */
export const UPLOAD_BYTES_MAX = 1024 ** 3;

const request = {
  requestId: idSchema,
  facilityId: idSchema,
  params: z.object({ dryRun: z.boolean() }),
  createdAt: instantSchema,
};

/** Answer of the start (E5); the members beyond interface.md are those of interface-decisions.md, Bulk CSV. */
export const bulkPatientCreateSchema = z
  .object({
    ...request,
    status: z.literal('waiting'),
    uploadUrl: z.string().meta({
      description:
        'PUT the CSV here within 10 minutes, once: `Content-Type: text/csv`, your `x-api-key`, the file as body.',
    }),
  })
  .meta({ id: 'BulkPatientCreate' });
export type BulkPatientCreate = z.output<typeof bulkPatientCreateSchema>;

export const bulkCountsSchema = z
  .object({
    rows: z.number().int().meta({ description: 'Rows of the file; 0 before its format has been checked.' }),
    handled: z.number().int(),
    created: z.number().int(),
    updated: z.number().int(),
    failed: z.number().int(),
  })
  .meta({ id: 'BulkCounts', description: 'In a dry run: what would be created and updated.' });

export const bulkCreateStatusAnswerSchema = z
  .object({
    ...request,
    status: bulkCreateStatusSchema,
    paused: z.literal(true).optional().meta({ description: 'Present while the request is paused.' }),
    counts: bulkCountsSchema,
    rowsPerSecond: z.number().optional().meta({ description: 'Over the time that it was not paused.' }),
    secondsLeft: z.number().int().optional().meta({ description: 'Present while rows are being handled.' }),
    result: z.string().optional().meta({
      description: 'Link to the result CSV, good for one hour; every call of "get status" gives a fresh one.',
    }),
    reason: z.string().optional().meta({ description: 'Why the request failed.' }),
    sweep: querySweepSchema.optional().meta({
      description: 'The queries of its patients, once they are being started.',
    }),
  })
  .meta({ id: 'BulkPatientCreateStatus' });
export type BulkCreateStatusResponse = z.output<typeof bulkCreateStatusAnswerSchema>;

/** Answer of `PUT {uploadUrl}`. */
export const bulkUploadSchema = z
  .object({
    requestId: idSchema,
    status: bulkCreateStatusSchema,
    /** Hex, of the bytes as they were sent. */
    sha256: z.string(),
    sizeBytes: z.number().int(),
  })
  .meta({ id: 'BulkUpload' });
export type BulkUpload = z.output<typeof bulkUploadSchema>;

/** The 409 of a further PUT: what the first one has left, so that a lost answer can be told from a mistake. */
export const uploadConflictSchema = errorBodySchema.extend({ upload: bulkUploadSchema });

export const BULK_CREATE_EVENT_TYPE = 'medical.bulk-patient-create';

/** A request has begun to be processed, is completed or has failed; none is sent when it expires. */
export const bulkCreateEventSchema = z
  .object({
    meta: eventMetaOf(z.literal(BULK_CREATE_EVENT_TYPE)),
    bulkPatientCreate: z.object({
      requestId: idSchema,
      status: z.enum(['processing', 'completed', 'failed']),
      result: z.string().optional().meta({ description: 'Link to the result CSV; of a completed request.' }),
      reason: z.string().optional().meta({ description: 'Of a failed request.' }),
    }),
  })
  .meta({ id: 'BulkPatientCreateEvent' });
export type BulkCreateEvent = z.output<typeof bulkCreateEventSchema>;
