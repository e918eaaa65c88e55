import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { component, idSchema } from './primitives.ts';

const count = z.number().int();

/** Progress of the post-import queries of a bulk create. */
export const querySweepSchema = component('QuerySweep', {
  requestId: idSchema,
  state: z.enum(['running', 'paused', 'completed', 'cancelled']),
  patients: count,
  started: count,
  skipped: count,
  failed: count,
  open: count,
});

/**
 * Control of the post-import queries of a bulk create; "bulk create status"
 * reports their progress.
 */
export const querySweepEndpoints = {
  pauseQuerySweep: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/sweep/pause',
    querySweepSchema,
  ),
  resumeQuerySweep: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/sweep/resume',
    querySweepSchema,
  ),
  cancelQuerySweep: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/sweep/cancel',
    querySweepSchema,
  ),
} as const;
