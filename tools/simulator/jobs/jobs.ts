import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import {
  SOURCE_NAMES,
  type SourceName,
} from '../../../src/local-stack/simulator/protocol.ts';
import { JsonlFile, type RequestLog } from '../request-log.ts';
import { signedPost } from '../signed-post.ts';

const job = z.object({
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
      /**
       * Delays of the callbacks after the job is ready; one callback for each
       * entry.
       */
      delaysMs: z.array(z.number()),
    })
    .optional(),
});
export type SimulatedJob = z.infer<typeof job>;

type JobState = 'running' | 'completed' | 'failed';

export function jobState(
  { outcome, readyAtMs }: SimulatedJob,
  nowMs: number,
): JobState {
  if (outcome === 'never-ends' || nowMs < readyAtMs) return 'running';
  return outcome === 'fails' ? 'failed' : 'completed';
}

/** Reported progress of a running job, 0 to 99 percent. */
export function jobProgress(
  { createdAtMs, readyAtMs }: SimulatedJob,
  nowMs: number,
): number {
  const total = Math.max(1, readyAtMs - createdAtMs);
  return Math.max(
    0,
    Math.min(99, Math.floor(((nowMs - createdAtMs) / total) * 100)),
  );
}

/** One line of the jobs file. */
const jobEvent = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('started'), job }),
  z.object({ kind: z.literal('called-back'), jobId: z.string() }),
  z.object({ kind: z.literal('cancelled'), jobId: z.string() }),
]);
type JobEvent = z.infer<typeof jobEvent>;

/** Sends one callback of a job. Never rejects. */
export type CallBack = (job: SimulatedJob) => Promise<void>;

const KEPT_MS = 60 * 60 * 1000;

/**
 * The asynchronous requests that the sources have accepted. With a file, they
 * and their callbacks survive a restart.
 */
export class Jobs {
  readonly #jobs = new Map<string, SimulatedJob>();
  readonly #timers = new Map<string, NodeJS.Timeout[]>();
  readonly #file: JsonlFile | undefined;
  private readonly callBack: CallBack;

  constructor(callBack: CallBack, path?: string) {
    this.callBack = callBack;

    this.#file = path ? new JsonlFile(path) : undefined;
    this.#restore();
  }

  start(job: SimulatedJob): void {
    this.#forgetOld();
    this.#record({ kind: 'started', job });
    this.#jobs.set(job.id, job);
    this.#schedule(job, job.callback?.delaysMs ?? []);
  }

  get(id: string): SimulatedJob | undefined {
    return this.#jobs.get(id);
  }

  cancel(id: string): void {
    this.#record({ kind: 'cancelled', jobId: id });
    this.#forget(id);
  }

  close(): void {
    for (const timers of this.#timers.values()) timers.forEach(clearTimeout);
    this.#timers.clear();
  }

  #schedule(job: SimulatedJob, delaysMs: readonly number[]): void {
    if (job.outcome === 'never-ends' || delaysMs.length === 0) return;
    const timers = delaysMs.map((delayMs) =>
      setTimeout(
        () => {
          this.#record({ kind: 'called-back', jobId: job.id });
          void this.callBack(job);
        },
        Math.max(0, job.readyAtMs + delayMs - Date.now()),
      ),
    );
    this.#timers.set(job.id, timers);
  }

  #restore(): void {
    const calls = new Map<string, number>();
    for (const line of this.#file?.read() ?? []) {
      const event = jobEvent.safeParse(line).data;
      if (event?.kind === 'started') this.#jobs.set(event.job.id, event.job);
      if (event?.kind === 'cancelled') this.#jobs.delete(event.jobId);
      if (event?.kind === 'called-back')
        calls.set(event.jobId, (calls.get(event.jobId) ?? 0) + 1);
    }
    this.#forgetOld();
    for (const job of this.#jobs.values()) {
      this.#schedule(
        job,
        job.callback?.delaysMs.slice(calls.get(job.id) ?? 0) ?? [],
      );
    }
  }

  #record(event: JobEvent): void {
    this.#file?.append(event);
  }

  #forget(id: string): void {
    this.#jobs.delete(id);
    this.#timers.get(id)?.forEach(clearTimeout);
    this.#timers.delete(id);
  }

  #forgetOld(): void {
    // Jobs are in the order of their creation, so the first recent one ends the
    // loop.
    for (const job of this.#jobs.values()) {
      if (job.createdAtMs > Date.now() - KEPT_MS) return;
      this.#forget(job.id);
    }
  }
}

/**
 * Standard Webhooks secrets: base64, with or without `whsec_`. A source without
 * a secret sends no callbacks.
 */
export type CallbackSecrets = Partial<Record<SourceName, string>>;

/**
 * Creates the function that reports the end of a job to the client: one POST,
 * signed according to Standard Webhooks. A failed callback is not repeated,
 * because the client can poll the job. All callbacks of one job have the same
 * message id.
 */
export function createCallBack(
  secrets: CallbackSecrets,
  log: RequestLog,
): CallBack {
  // Created now, so that an invalid secret fails the start and not the first
  // callback.
  const signers = new Map(
    Object.entries(secrets).flatMap(([source, secret]) =>
      secret ? [[source, new Webhook(secret)] as const] : [],
    ),
  );
  return async (job) => {
    const signer = signers.get(job.source);
    if (!job.callback || !signer) return;
    const startedAtMs = Date.now();
    const body = JSON.stringify({
      status: job.outcome === 'fails' ? 'failed' : 'completed',
    });
    const status = await signedPost(
      job.callback.url,
      signer,
      `msg_${job.id}`,
      body,
    );
    log.add({
      at: new Date(startedAtMs).toISOString(),
      source: job.source,
      operation: 'callback',
      method: 'POST',
      // The path may contain a secret of the receiver.
      path: '',
      sample: job.sample,
      status,
      ms: Date.now() - startedAtMs,
    });
  };
}
