import { z } from 'zod';
import { SOURCE_NAMES } from '../protocol.ts';

export const job = z.object({
  id: z.string(),
  source: z.enum(SOURCE_NAMES),
  sample: z.string(),
  patientId: z.string(),
  types: z.array(z.string()).optional(),
  count: z.int().optional(),
  /** Address of the request that started it, which a manifest has to repeat. */
  requestUrl: z.string(),
  createdAtMs: z.number(),
  readyAtMs: z.number(),
  outcome: z.enum(['completes', 'fails', 'never-ends']),
  /** HTTP status that a failed job answers. */
  failureStatus: z.int().optional(),
  callback: z
    .object({
      url: z.string(),
      /** When to call, counted from the moment the job is ready; one call for each. */
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

/** How far a running job says it is, 0 to 99 percent. */
export function jobProgress({ createdAtMs, readyAtMs }: Job, nowMs: number): number {
  const total = Math.max(1, readyAtMs - createdAtMs);
  return Math.max(0, Math.min(99, Math.floor(((nowMs - createdAtMs) / total) * 100)));
}

/** What the jobs file holds, one per line. */
export const jobEvent = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('started'), job }),
  z.object({ kind: z.literal('called-back'), jobId: z.string() }),
  z.object({ kind: z.literal('cancelled'), jobId: z.string() }),
]);
export type JobEvent = z.infer<typeof jobEvent>;
