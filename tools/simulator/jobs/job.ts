import { z } from 'zod';
import { SOURCE_NAMES } from '../protocol.ts';

export const job = z.object({
  id: z.string(),
  source: z.enum(SOURCE_NAMES),
  sample: z.string(),
  patientId: z.string(),
  types: z.array(z.string()).optional(),
  count: z.int().optional(),
  /** Only resources stored after this time. */
  since: z.string().optional(),
  /** URL of the request that started the job; a manifest must contain it. */
  requestUrl: z.string(),
  createdAtMs: z.number(),
  readyAtMs: z.number(),
  outcome: z.enum(['completes', 'fails', 'never-ends']),
  /** HTTP status of a failed job. */
  failureStatus: z.int().optional(),
  callback: z
    .object({
      url: z.string(),
      /** Delays of the callbacks after the job is ready; one callback for each entry. */
      delaysMs: z.array(z.number()),
    })
    .optional(),
});
export type Job = z.infer<typeof job>;

export type JobState = 'running' | 'completed' | 'failed';

export function jobState({ outcome, readyAtMs }: Job, nowMs: number): JobState {
  if (outcome === 'never-ends' || nowMs < readyAtMs) return 'running';
  return outcome === 'fails' ? 'failed' : 'completed';
}

/** Reported progress of a running job, 0 to 99 percent. */
export function jobProgress({ createdAtMs, readyAtMs }: Job, nowMs: number): number {
  const total = Math.max(1, readyAtMs - createdAtMs);
  return Math.max(0, Math.min(99, Math.floor(((nowMs - createdAtMs) / total) * 100)));
}

/** One line of the jobs file. */
export const jobEvent = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('started'), job }),
  z.object({ kind: z.literal('called-back'), jobId: z.string() }),
  z.object({ kind: z.literal('cancelled'), jobId: z.string() }),
]);
export type JobEvent = z.infer<typeof jobEvent>;
