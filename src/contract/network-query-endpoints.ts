import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import { byRequestId, pageMetaSchema } from './endpoint-parts.ts';
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
  startNetworkQuery: endpoint('POST /medical/v1/network/query', {
    query: z.object({ patientId: idSchema, purposeOfUse: purposeOfUseSchema.default('treatment') }),
    headers: z.object({
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
  getNetworkQuery: endpoint('GET /medical/v1/network/query/:requestId', {
    params: byRequestId,
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
  listNetworkQueries: endpoint('GET /medical/v1/network/query', {
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
  getNetworkQueryTimeline: endpoint('GET /medical/v1/network/query/:requestId/timeline', {
    params: byRequestId,
    responses: { 200: z.object({ requestId: idSchema, timeline: z.array(timelineEntrySchema) }) },
    errors: [404],
  }),
  retrySource: endpoint('POST /medical/v1/network/query/:requestId/source/:type/retry', {
    params: byRequestId.extend({ type: sourceTypeSchema }),
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
  giveUpSource: endpoint('POST /medical/v1/network/query/:requestId/source/:type/cancel', {
    params: byRequestId.extend({ type: sourceTypeSchema }),
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
  cancelNetworkQuery: endpoint('POST /medical/v1/network/query/:requestId/cancel', {
    params: byRequestId,
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
} as const;
