import { endpoint } from './endpoint.ts';
import { byRequestId } from './endpoint-parts.ts';
import { queryRedriveRequestSchema, queryRedriveSchema } from './query-redrive.ts';

/** Redrives: one source of many queries that failed is retried. */
export const queryRedriveEndpoints = {
  redriveQueries: endpoint('POST /medical/v1/network/redrive', {
    body: queryRedriveRequestSchema,
    responses: { 200: queryRedriveSchema },
  }),
  getQueryRedrive: endpoint('GET /medical/v1/network/redrive/:requestId', {
    params: byRequestId,
    responses: { 200: queryRedriveSchema },
    errors: [404],
  }),
  cancelQueryRedrive: endpoint('POST /medical/v1/network/redrive/:requestId/cancel', {
    params: byRequestId,
    responses: { 200: queryRedriveSchema },
    errors: [404],
  }),
} as const;
