import { endpoint } from './endpoint.ts';
import { byRequestId, idempotency } from './endpoint-parts.ts';
import { queryRedriveRequestSchema, queryRedriveSchema } from './query-redrive.ts';

const reference = 'Operations around E1–E14';

/** Redrives: one source of many queries that failed is retried. */
export const queryRedriveEndpoints = {
  redriveQueries: endpoint({
    method: 'POST',
    path: '/medical/v1/network/redrive',
    reference,
    tag: 'network query',
    summary: 'Retry the failed queries of a source',
    description:
      'Retries one source of all queries whose last attempt at it failed in the given time, or which were accepted in that time and refused there, oldest failure first, within 72 % of the source’s limit per minute. With `dryRun`, only counts them. 409 if another redrive of the source is running.',
    headers: idempotency,
    body: queryRedriveRequestSchema,
    responses: { 200: queryRedriveSchema },
  }),
  getQueryRedrive: endpoint({
    method: 'GET',
    path: '/medical/v1/network/redrive/:requestId',
    reference,
    tag: 'network query',
    summary: 'Get redrive status',
    params: byRequestId,
    responses: { 200: queryRedriveSchema },
    errors: [404],
  }),
  cancelQueryRedrive: endpoint({
    method: 'POST',
    path: '/medical/v1/network/redrive/:requestId/cancel',
    reference,
    tag: 'network query',
    summary: 'Cancel a redrive',
    description: 'No further query is retried; those already retried continue. 409 if the redrive has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: queryRedriveSchema },
    errors: [404],
  }),
} as const;
