import { z } from 'zod';
import { idSchema } from './primitives.ts';

const count = z.number().int();

/** Where the queries after a bulk create stand. */
export const querySweepSchema = z
  .object({
    requestId: idSchema.meta({ description: 'Of the bulk create.' }),
    state: z.enum(['running', 'paused', 'completed', 'cancelled']).meta({
      description: '`completed`: every patient’s query has been started or skipped; some may still be open.',
    }),
    patients: count,
    started: count,
    skipped: count.meta({ description: 'Opted out of every source that is asked, or deleted meanwhile.' }),
    failed: count,
    open: count.meta({ description: 'Queries of this sweep that have not ended.' }),
  })
  .meta({ id: 'QuerySweep' });
