import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { idSchema } from './primitives.ts';

const count = z.number().int();

/** Progress of the post-import queries of a bulk create. */
export const querySweepSchema = z
  .object({
    requestId: idSchema.meta({ description: 'Request id of the bulk create.' }),
    state: z.enum(['running', 'paused', 'completed', 'cancelled']).meta({
      description:
        '`completed`: the query of every patient has been started or skipped; some queries may still be in progress.',
    }),
    patients: count,
    started: count,
    skipped: count.meta({
      description: 'Patients without a query: opted out of every requested source, or deleted since.',
    }),
    failed: count,
    open: count.meta({ description: 'Queries of this sweep that are still in progress.' }),
  })
  .meta({ id: 'QuerySweep' });

/** Control of the post-import queries of a bulk create; "bulk create status" reports their progress. */
export const querySweepEndpoints = {
  pauseQuerySweep: endpoint('POST /medical/v1/patient/bulk/:requestId/sweep/pause', {
    responses: { 200: querySweepSchema },
  }),
  resumeQuerySweep: endpoint('POST /medical/v1/patient/bulk/:requestId/sweep/resume', {
    responses: { 200: querySweepSchema },
  }),
  cancelQuerySweep: endpoint('POST /medical/v1/patient/bulk/:requestId/sweep/cancel', {
    responses: { 200: querySweepSchema },
  }),
} as const;
