import { FairQueue, type FairQueueLimits } from './fair-queue.ts';
import { createJobThread, type JobEnd, type JobThreadLimits } from './job-thread.ts';

/** A few job threads, shared between those they work for. */
export interface FairThreads<Job, Answer> {
  /** The job is read when its turn comes. Throws QueueFullError, and what reading it throws. */
  run(of: string, read: () => Promise<Job>): Promise<JobEnd<Answer>>;
  close(): Promise<void>;
}

/** @param queue `atOnce` is the number of threads; each is started when there is a job for it */
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
        if (thread === undefined) throw new Error('more jobs are under way than there are threads');
        try {
          return await thread.run(await read());
        } finally {
          // The one that is warm is taken next.
          free.unshift(thread);
        }
      }),
    close: async () => {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
