import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import {
  component,
  idSchema,
  instantSchema,
  sourceTypeSchema,
} from './primitives.ts';

const count = z.number().int();

/** Which failed queries are retried. */
export const queryRedriveRequestSchema = z
  .strictObject({
    source: sourceTypeSchema,
    failedFrom: instantSchema.describe(
      'Only queries whose source failed, or was refused, at or after this time.',
    ),
    failedTo: instantSchema
      .optional()
      .describe(
        'Only queries whose source failed before this time. Default, and latest: now.',
      ),
    reason: z
      .string()
      .min(1)
      .max(TEXT_LENGTH_MAX)
      .optional()
      .describe(
        'Only queries whose failure or refusal contains this text, in upper or lower case. The status of a query shows the reason.',
      ),
    dryRun: z.boolean().default(false).describe('Only counts the queries.'),
  })
  .meta({ id: 'QueryRedriveRequest' });

/** Progress of a redrive. */
export const queryRedriveSchema = component('QueryRedrive', {
  requestId: idSchema
    .optional()
    .describe('Id of the redrive. Absent after a dry run.'),
  state: z
    .enum(['dry-run', 'running', 'completed', 'cancelled'])
    .describe(
      '`completed`: each query has been retried or skipped; some may still be in progress.',
    ),
  source: sourceTypeSchema,
  failedFrom: instantSchema,
  failedTo: instantSchema,
  reason: z.string().optional(),
  queries: count.describe('Matching queries when the redrive began.'),
  retried: count,
  skipped: count.describe(
    'Queries that must not be retried: the source was retried or completed meanwhile, the patient opted out or was deleted, or the source is no longer enabled.',
  ),
  failed: count.describe(
    'Queries that could not be retried, because their workflow did not respond; another redrive finds them.',
  ),
  open: count.describe('Retries of this redrive that are still in progress.'),
  startedAt: instantSchema.optional(),
  endedAt: instantSchema.optional(),
});
export type QueryRedrive = z.output<typeof queryRedriveSchema>;

/** Redrives: one source of many queries that failed is retried. */
export const queryRedriveEndpoints = {
  redriveQueries: endpoint(
    'POST /medical/v1/network/redrive',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Retry the failed queries of a source',
      description:
        'Retries one source of all queries whose last attempt at it failed in the given time, or which were accepted in that time and refused there, oldest failure first, within 72 % of the source’s limit per minute. With `dryRun`, only counts them. 409 if another redrive of the source is running.',
    },
    queryRedriveSchema,
    {
      body: queryRedriveRequestSchema,
    },
  ),
  getQueryRedrive: endpoint(
    'GET /medical/v1/network/redrive/:requestId',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Get redrive status',
    },
    queryRedriveSchema,
  ),
  cancelQueryRedrive: endpoint(
    'POST /medical/v1/network/redrive/:requestId/cancel',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Cancel a redrive',
      description:
        'No further query is retried; those already retried continue. 409 if the redrive has ended.',
    },
    queryRedriveSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const queryRedriveExamples = {
  redriveQueries: {
    body: {
      source: 'lab',
      failedFrom: '2026-11-20T22:00:00.000Z',
      failedTo: '2026-11-21T04:00:00.000Z',
      reason: '401',
    },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      source: 'lab',
      failedFrom: '2026-11-20T22:00:00.000Z',
      failedTo: '2026-11-21T04:00:00.000Z',
      reason: '401',
      queries: 240,
      retried: 0,
      skipped: 0,
      failed: 0,
      open: 0,
      startedAt: '2026-11-21T15:04:05.000Z',
      state: 'running',
    },
  },

  getQueryRedrive: {
    params: { requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223' },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      source: 'lab',
      failedFrom: '2026-11-20T22:00:00.000Z',
      failedTo: '2026-11-21T04:00:00.000Z',
      reason: '401',
      queries: 240,
      retried: 96,
      skipped: 2,
      failed: 0,
      open: 14,
      startedAt: '2026-11-21T15:04:05.000Z',
      state: 'running',
    },
  },

  cancelQueryRedrive: {
    params: { requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223' },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      source: 'lab',
      failedFrom: '2026-11-20T22:00:00.000Z',
      failedTo: '2026-11-21T04:00:00.000Z',
      reason: '401',
      queries: 240,
      retried: 96,
      skipped: 2,
      failed: 0,
      open: 14,
      startedAt: '2026-11-21T15:04:05.000Z',
      state: 'cancelled',
      endedAt: '2026-11-21T15:06:41.000Z',
    },
  },
} satisfies ExamplesOf<typeof queryRedriveEndpoints>;
