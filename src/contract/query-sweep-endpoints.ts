import { endpoint } from './endpoint.ts';
import { byRequestId } from './endpoint-parts.ts';
import { querySweepSchema } from './query-sweep.ts';

/** Control of the post-import queries of a bulk create; "bulk create status" reports their progress. */
export const querySweepEndpoints = {
  pauseQuerySweep: endpoint('POST /medical/v1/patient/bulk/:requestId/sweep/pause', {
    params: byRequestId,
    responses: { 200: querySweepSchema },
    errors: [404],
  }),
  resumeQuerySweep: endpoint('POST /medical/v1/patient/bulk/:requestId/sweep/resume', {
    params: byRequestId,
    responses: { 200: querySweepSchema },
    errors: [404],
  }),
  cancelQuerySweep: endpoint('POST /medical/v1/patient/bulk/:requestId/sweep/cancel', {
    params: byRequestId,
    responses: { 200: querySweepSchema },
    errors: [404],
  }),
} as const;
