import { JsonlFile } from '../jsonl-file.ts';
import { type Job, type JobEvent, jobEvent } from './job.ts';

/** Sends one callback of a job. Never rejects. */
export type CallBack = (job: Job) => Promise<void>;

const KEPT_MS = 60 * 60 * 1000;

/** The asynchronous requests that the sources have accepted. With a file, they and their callbacks survive a restart. */
export class Jobs {
  readonly #jobs = new Map<string, Job>();
  readonly #timers = new Map<string, NodeJS.Timeout[]>();
  readonly #file: JsonlFile | undefined;
  readonly #callBack: CallBack;

  constructor(callBack: CallBack, path?: string) {
    this.#callBack = callBack;
    this.#file = path ? new JsonlFile(path) : undefined;
    this.#restore();
  }

  start(job: Job): void {
    this.#forgetOld();
    this.#record({ kind: 'started', job });
    this.#jobs.set(job.id, job);
    this.#schedule(job, job.callback?.delaysMs ?? []);
  }

  get(id: string): Job | undefined {
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

  #schedule(job: Job, delaysMs: readonly number[]): void {
    if (job.outcome === 'never-ends' || delaysMs.length === 0) return;
    const timers = delaysMs.map((delayMs) =>
      setTimeout(
        () => {
          this.#record({ kind: 'called-back', jobId: job.id });
          void this.#callBack(job);
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
      if (event?.kind === 'called-back') calls.set(event.jobId, (calls.get(event.jobId) ?? 0) + 1);
    }
    this.#forgetOld();
    for (const job of this.#jobs.values()) {
      this.#schedule(job, job.callback?.delaysMs.slice(calls.get(job.id) ?? 0) ?? []);
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
    // Jobs are in the order of their creation, so the first recent one ends the loop.
    for (const job of this.#jobs.values()) {
      if (job.createdAtMs > Date.now() - KEPT_MS) return;
      this.#forget(job.id);
    }
  }
}
