import { FairQueue, type FairQueueLimits } from './fair-queue.ts';
import { createJobThread, type JobEnd, type JobThreadLimits } from './job-thread.ts';

/** A few job threads that their owners use in turns. */
export interface FairThreads<Job, Answer> {
  /** Reads the job when it is the turn of owner `of`, and runs it. Throws QueueFullError and any error of `read`. */
  run(of: string, read: () => Promise<Job>): Promise<JobEnd<Answer>>;
  close(): Promise<void>;
}

/** @param queue `atOnce` is the number of threads; each starts with its first job */
export function createFairThreads<Job, Answer>(
  file: URL,
  limits: JobThreadLimits,
  queue: FairQueueLimits,
): FairThreads<Job, Answer> {
  const turns = new FairQueue(queue);
  const threads = Array.from({ length: queue.atOnce }, () => createJobThread<Job, Answer>(file, limits));
  const free = [...threads];
  return {
    run: (of, read) =>
      turns.run(of, async () => {
        const thread = free.shift();
        if (thread === undefined) throw new Error('more jobs are running than there are threads');
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
