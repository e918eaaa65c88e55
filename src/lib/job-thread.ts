import type { Worker } from 'node:worker_threads';
import { startSourceThread } from './source-thread.ts';

export interface JobThreadLimits {
  /** JavaScript heap of the thread. */
  heapMb: number;
  /** Of one job. */
  timeoutMs: number;
  /** The thread ends when it has had nothing to do for so long. */
  idleMs: number;
}

/** `broken`: the job has ended its thread; the next one gets a new one. */
export type JobEnd<Answer> = { kind: 'answered'; answer: Answer } | { kind: 'broken'; reason: string };

/** A thread with a bounded heap and time, started when there is a job, which answers one job after another. */
export interface JobThread<Job, Answer> {
  /** One at a time: the caller waits for the end of the one before. Never throws. */
  run(job: Job): Promise<JobEnd<Answer>>;
  close(): Promise<void>;
}

/** @param file posts one answer for each message that it gets */
export function createJobThread<Job, Answer>(file: URL, limits: JobThreadLimits): JobThread<Job, Answer> {
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  async function close(): Promise<void> {
    clearTimeout(idle);
    const dropped = thread;
    thread = undefined;
    await dropped?.terminate();
  }

  return {
    async run(job) {
      clearTimeout(idle);
      thread ??= startSourceThread(file, { heapMb: limits.heapMb });
      thread.ref();
      const end = await endOf<Answer>(thread, job, limits.timeoutMs);
      if (end.kind === 'broken') {
        await close();
        return end;
      }
      thread?.unref();
      idle = setTimeout(() => void close(), limits.idleMs);
      idle.unref();
      return end;
    },
    close,
  };
}

function endOf<Answer>(thread: Worker, job: unknown, timeoutMs: number): Promise<JobEnd<Answer>> {
  return new Promise((resolve) => {
    const end = (how: JobEnd<Answer>) => {
      clearTimeout(timer);
      for (const event of ['message', 'error', 'exit']) thread.removeAllListeners(event);
      // An error after its answer is of no interest, and must not end the process.
      thread.on('error', () => undefined);
      resolve(how);
    };
    const broken = (reason: string) => end({ kind: 'broken', reason });
    const timer = setTimeout(() => broken('it took too long'), timeoutMs);
    thread.once('message', (answer: Answer) => end({ kind: 'answered', answer }));
    thread.once('error', (error: NodeJS.ErrnoException) =>
      broken(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it needs too much memory' : 'its conversion ended early',
      ),
    );
    thread.once('exit', () => broken('its conversion ended early'));
    thread.postMessage(job);
  });
}
