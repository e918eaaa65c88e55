import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import {
  component,
  idSchema,
  instantSchema,
  sourceTypeSchema,
  withTexts,
} from './primitives.ts';

const count = z.number().int();

/** Which failed queries are retried. */
export const queryRedriveRequestSchema = z
  .strictObject(
    withTexts('QueryRedriveRequest', {
      source: sourceTypeSchema,
      failedFrom: instantSchema,
      failedTo: instantSchema.optional(),
      reason: z.string().min(1).max(TEXT_LENGTH_MAX).optional(),
      dryRun: z.boolean().default(false),
    }),
  )
  .meta({ id: 'QueryRedriveRequest' });

/** Progress of a redrive. */
export const queryRedriveSchema = component('QueryRedrive', {
  requestId: idSchema.optional(),
  state: z.enum(['dry-run', 'running', 'completed', 'cancelled']),
  source: sourceTypeSchema,
  failedFrom: instantSchema,
  failedTo: instantSchema,
  reason: z.string().optional(),
  queries: count,
  retried: count,
  skipped: count,
  failed: count,
  open: count,
  startedAt: instantSchema.optional(),
  endedAt: instantSchema.optional(),
});
export type QueryRedrive = z.output<typeof queryRedriveSchema>;

/** Redrives: one source of many queries that failed is retried. */
export const queryRedriveEndpoints = {
  redriveQueries: endpoint(
    'POST /medical/v1/network/redrive',
    queryRedriveSchema,
    {
      body: queryRedriveRequestSchema,
    },
  ),
  getQueryRedrive: endpoint(
    'GET /medical/v1/network/redrive/:requestId',
    queryRedriveSchema,
  ),
  cancelQueryRedrive: endpoint(
    'POST /medical/v1/network/redrive/:requestId/cancel',
    queryRedriveSchema,
  ),
} as const;
