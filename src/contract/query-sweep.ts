import { z } from 'zod';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { component, idSchema } from './primitives.ts';

const count = z.number().int();

/** Progress of the post-import queries of a bulk create. */
export const querySweepSchema = component('QuerySweep', {
  requestId: idSchema.describe('Request id of the bulk create.'),
  state: z
    .enum(['running', 'paused', 'completed', 'cancelled'])
    .describe(
      '`completed`: the query of every patient has been started or skipped; some queries may still be in progress.',
    ),
  patients: count,
  started: count,
  skipped: count.describe(
    'Patients without a query: opted out of every requested source, or deleted since.',
  ),
  failed: count,
  open: count.describe('Queries of this sweep that are still in progress.'),
});

/**
 * Control of the post-import queries of a bulk create; "bulk create status"
 * reports their progress.
 */
export const querySweepEndpoints = {
  pauseQuerySweep: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/sweep/pause',
    {
      tag: 'bulk create',
      reference: 'Operations around E1–E14',
      summary: 'Pause the queries after a bulk create',
      description:
        'No further query is started; queries already started continue. 404 until the bulk create is completed. 409 if the sweep is already paused or has ended.',
    },
    querySweepSchema,
  ),
  resumeQuerySweep: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/sweep/resume',
    {
      tag: 'bulk create',
      reference: 'Operations around E1–E14',
      summary: 'Resume the queries after a bulk create',
      description:
        'Continues with the next patient. 409 if the sweep is not paused.',
    },
    querySweepSchema,
  ),
  cancelQuerySweep: endpoint(
    'POST /medical/v1/patient/bulk/:requestId/sweep/cancel',
    {
      tag: 'bulk create',
      reference: 'Operations around E1–E14',
      summary: 'Cancel the queries after a bulk create',
      description:
        'Cannot be undone: no query is started for the remaining patients. Queries already started continue. 409 if the sweep has ended.',
    },
    querySweepSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const querySweepExamples = {
  pauseQuerySweep: {
    params: { requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718' },
    answer: {
      requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
      patients: 1193,
      started: 240,
      skipped: 2,
      failed: 0,
      open: 18,
      state: 'paused',
    },
  },

  resumeQuerySweep: {
    params: { requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718' },
    answer: {
      requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
      patients: 1193,
      started: 240,
      skipped: 2,
      failed: 0,
      open: 18,
      state: 'running',
    },
  },

  cancelQuerySweep: {
    params: { requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718' },
    answer: {
      requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
      patients: 1193,
      started: 240,
      skipped: 2,
      failed: 0,
      open: 18,
      state: 'cancelled',
    },
  },
} satisfies ExamplesOf<typeof querySweepEndpoints>;
