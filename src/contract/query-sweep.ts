import { z } from 'zod';
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
