import { z } from 'zod';
import { port } from './value-types.ts';

/** Of workers. */
export const WORKER_VARIABLES = {
  RECONCILE_INTERVAL_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .default(60)
    .describe('Interval at which unfinished work is taken up'),

  WORKER_QUEUES: z
    .string()
    .default('all')
    .describe('Task queues that this worker process polls, separated by spaces, or "all"'),
  WORKER_VERSIONING: z
    .enum(['off', 'on', 'alone'])
    .default('off')
    .describe(
      'Worker Versioning: off; on, for builds side by side; alone, for workers that are all replaced together',
    ),
  BUILD_ID: z
    .string()
    .regex(/^[\w.-]{1,64}$/, { error: 'may have 64 letters, digits, dots, dashes and underscores' })
    .optional()
    .describe('Names the build of a versioned worker; default: a hash of the sources'),
  WORKER_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address on which the worker serves /health, /ready and /metrics'),
  WORKER_PORT: port
    .default(0)
    .describe('Port of the worker’s /health, /ready and /metrics; 0 for any free port'),
  WORKER_TEMPORAL_METRICS: z
    .string()
    .regex(/^\S+:\d{1,5}$/, { error: 'must have the form host:port' })
    .optional()
    .describe('host:port on which a worker serves the metrics of the Temporal SDK; without it, not served'),
} as const;
