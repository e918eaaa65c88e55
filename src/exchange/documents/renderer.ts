import type { DocumentFormat } from '../../contract/documents.ts';
import { type FairQueueLimits, QueueFullError } from '../../lib/fair-queue.ts';
import { createFairThreads } from '../../lib/fair-threads.ts';
import type { JobThreadLimits } from '../../lib/job-thread.ts';
import type { Rendering } from './render.ts';
import type { RenderJob } from './render-thread.ts';

export interface RenderLimits extends JobThreadLimits {
  queue: FairQueueLimits;
}

/** Two threads, of which one account gets one: a document that takes all its time keeps its own account waiting only. */
const LIMITS: RenderLimits = {
  heapMb: 384,
  timeoutMs: 30_000,
  idleMs: 60_000,
  queue: { atOnce: 2, ofOneAtOnce: 1, waiting: 64, ofOneWaiting: 8 },
};

/** Makes html and pdf of documents, a few at a time, for one account after the other. */
export interface DocumentRenderer {
  /**
   * `busy`: too many are waiting, of this account or of all. The content is read when its turn comes. Throws what reading it
   * throws, and nothing else, whatever the bytes are.
   */
  render(
    accountId: string,
    read: () => Promise<Uint8Array>,
    format: DocumentFormat,
  ): Promise<Rendering | { kind: 'busy' }>;
  close(): Promise<void>;
}

/**
 * Documents are rendered in threads of their own with a bounded heap and time (decision 33): a gateway goes on
 * answering while it renders, and a document that is made to hurt ends with a reason and takes nothing with it.
 */
export function createDocumentRenderer(limits: RenderLimits = LIMITS): DocumentRenderer {
  const threads = createFairThreads<RenderJob, Rendering>(
    new URL('./render-thread.ts', import.meta.url),
    limits,
    limits.queue,
  );
  return {
    async render(accountId, read, format) {
      try {
        const end = await threads.run(accountId, async () => ({ bytes: await read(), format }));
        return end.kind === 'answered' ? end.answer : { kind: 'refused', reason: end.reason };
      } catch (error) {
        if (error instanceof QueueFullError) return { kind: 'busy' };
        throw error;
      }
    },
    close: () => threads.close(),
  };
}
