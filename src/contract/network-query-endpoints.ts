import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import { byRequestId, idempotency, pageMetaSchema } from './endpoint-parts.ts';
import {
  listedNetworkQuerySchema,
  networkQueryRequestSchema,
  networkQueryStatusSchema,
  purposeOfUseSchema,
  queryStatusSchema,
  timelineEntrySchema,
} from './network-query.ts';
import { pageQuery } from './paging.ts';
import { idSchema, instantSchema, sourceTypeSchema } from './primitives.ts';

/** Columns by which the list of queries can be sorted; without `sort`, newest first. */
export const NETWORK_QUERY_SORT = ['startedAt', 'requestId'] as const;

export const networkQueryEndpoints = {
  startNetworkQuery: endpoint({
    method: 'POST',
    path: '/medical/v1/network/query',
    reference: 'E2',
    tag: 'network query',
    summary: 'Start network query',
    description: 'Returns 2XX even if some sources could not be started; check `errors`.',
    query: z.object({ patientId: idSchema, purposeOfUse: purposeOfUseSchema.default('treatment') }),
    headers: idempotency.extend({
      'x-aal2-session': z.string().max(500).optional(),
      priority: z.string().max(TEXT_LENGTH_MAX).optional().meta({
        description:
          'RFC 9218 priority. `u=5` to `u=7` marks a background query. It runs after other queries, and starts at a source only while less than 80 % of the source’s limit per minute is used. If no source has capacity, the response reports the query as failed, with `Retry-After`, and the query is not stored.',
      }),
    }),
    body: networkQueryRequestSchema,
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
  getNetworkQuery: endpoint({
    method: 'GET',
    path: '/medical/v1/network/query/:requestId',
    reference: 'E3',
    tag: 'network query',
    summary: 'Get network query status',
    params: byRequestId,
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
  listNetworkQueries: endpoint({
    method: 'GET',
    path: '/medical/v1/network/query',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'List network queries',
    query: pageQuery(
      {
        patientId: idSchema.optional(),
        status: queryStatusSchema.optional(),
        source: sourceTypeSchema.optional(),
        startedAfter: instantSchema.optional(),
      },
      { sort: NETWORK_QUERY_SORT },
    ),
    responses: { 200: z.object({ queries: z.array(listedNetworkQuerySchema), meta: pageMetaSchema }) },
  }),
  getNetworkQueryTimeline: endpoint({
    method: 'GET',
    path: '/medical/v1/network/query/:requestId/timeline',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'Timeline of a network query',
    params: byRequestId,
    responses: { 200: z.object({ requestId: idSchema, timeline: z.array(timelineEntrySchema) }) },
    errors: [404],
  }),
  retrySource: endpoint({
    method: 'POST',
    path: '/medical/v1/network/query/:requestId/source/:type/retry',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'Retry one source',
    description:
      'Queries one source again, during the query or after it ended as partial or failed. 409 if the source is still running or has completed.',
    params: byRequestId.extend({ type: sourceTypeSchema }),
    headers: idempotency,
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
  giveUpSource: endpoint({
    method: 'POST',
    path: '/medical/v1/network/query/:requestId/source/:type/cancel',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'Give up one source',
    description: 'Ends the source as failed; the other sources continue. 409 if the source is not running.',
    params: byRequestId.extend({ type: sourceTypeSchema }),
    headers: idempotency,
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
  cancelNetworkQuery: endpoint({
    method: 'POST',
    path: '/medical/v1/network/query/:requestId/cancel',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'Cancel a network query',
    description: 'Sources still running end as failed. 409 if the query has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
} as const;
