import { Worker } from 'node:worker_threads';
import { systemEnvironment } from '../config.ts';
import { FairQueue, type FairQueueLimits } from './lanes.ts';

export interface JobThreadLimits {
  /** Maximum JavaScript heap of the thread. */
  heapMb: number;
  /** Maximum duration of one job. */
  timeoutMs: number;
  /** The thread ends after being idle for this long. */
  idleMs: number;
}

/**
 * `broken`: the job crashed its thread or exceeded a limit; the next job gets a
 * new thread. `isStarved`: it exceeded its time because the machine was busy,
 * so it may well succeed later.
 */
export type JobEnd<Answer> =
  | { kind: 'answered'; answer: Answer }
  | { kind: 'broken'; reason: string; isStarved?: boolean };

/**
 * A thread with limited heap and time that runs one job after another. It
 * starts with the first job.
 *
 * @param file code of the thread; it must post one response for each message it
 *   receives
 */
export function createJobThread<Job, Answer>(
  file: URL,
  limits: JobThreadLimits,
) {
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  async function close(): Promise<void> {
    clearTimeout(idle);
    const dropped = thread;
    thread = undefined;
    await dropped?.terminate();
  }

  return {
    /** Runs a job. Call it for one job at a time. Never throws. */
    async run(job: Job): Promise<JobEnd<Answer>> {
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

/** In a shorter time, what the process does besides is too large a part. */
const TELLING_MS = 1_000;

function endOf<Answer>(
  thread: Worker,
  job: unknown,
  timeoutMs: number,
): Promise<JobEnd<Answer>> {
  return new Promise((resolve) => {
    const end = (how: JobEnd<Answer>) => {
      clearTimeout(timer);
      for (const event of ['message', 'error', 'exit'])
        thread.removeAllListeners(event);
      // Ignore errors after the response; without a listener they would end the
      // process.
      thread.on('error', () => undefined);
      resolve(how);
    };
    const broken = (reason: string, isStarved = false) =>
      end({ kind: 'broken', reason, ...(isStarved && { isStarved }) });
    const before = process.cpuUsage();
    const timer = setTimeout(() => {
      // A job that works all the time has at least the processor time of its
      // whole process, unless others have the processors.
      const { user, system } = process.cpuUsage(before);
      broken(
        'it took too long',
        timeoutMs >= TELLING_MS && user + system < (timeoutMs * 1_000) / 2,
      );
    }, timeoutMs);
    thread.once('message', (answer: Answer) =>
      end({ kind: 'answered', answer }),
    );
    thread.once('error', (error: NodeJS.ErrnoException) =>
      broken(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? 'it needs too much memory'
          : 'its conversion ended early',
      ),
    );
    thread.once('exit', () => broken('its conversion ended early'));
    thread.postMessage(job);
  });
}

/**
 * Starts a thread that runs one of our own source files, with a limited
 * JavaScript heap: exceeding it ends the thread with ERR_WORKER_OUT_OF_MEMORY,
 * not the process.
 */
export const startSourceThread = (
  file: URL,
  options: { heapMb: number; workerData?: unknown },
): Worker =>
  new Worker(file, {
    workerData: options.workerData,
    execArgv: [],
    // A thread reads foreign documents: it gets none of the secrets that its
    // process was started with.
    env: systemEnvironment(),
    resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
  });

/**
 * A few job threads that their owners use in turns.
 *
 * @param queue `atOnce` is the number of threads; each starts with its first
 *   job
 */
export function createFairThreads<Job, Answer>(
  file: URL,
  limits: JobThreadLimits,
  queue: FairQueueLimits,
) {
  const turns = new FairQueue(queue);
  const threads = Array.from({ length: queue.atOnce }, () =>
    createJobThread<Job, Answer>(file, limits),
  );
  const free = [...threads];
  return {
    /**
     * Reads the job when it is the turn of owner `of`, and runs it. Throws
     * QueueFullError and any error of `read`.
     */
    run: (of: string, read: () => Promise<Job>) =>
      turns.run(of, async () => {
        const thread = free.shift();
        if (thread === undefined)
          throw new Error('more jobs are running than there are threads');
        try {
          return await thread.run(await read());
        } finally {
          // Reuse the thread that is already warm.
          free.unshift(thread);
        }
      }),
    close: async () => {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
