import type { DocumentFormat } from '../../../contract/documents.ts';
import { type FairQueueLimits, QueueFullError } from '../../../lib/fair-queue.ts';
import { createFairThreads } from '../../../lib/fair-threads.ts';
import type { JobThreadLimits } from '../../../lib/job-thread.ts';
import type { Rendering } from './render.ts';
import type { RenderJob } from './render-thread.ts';

export interface RenderLimits extends JobThreadLimits {
  queue: FairQueueLimits;
}

/** Two threads, at most one per account: a slow document delays only its own account. */
const LIMITS: RenderLimits = {
  heapMb: 384,
  timeoutMs: 30_000,
  idleMs: 60_000,
  queue: { atOnce: 2, ofOneAtOnce: 1, waiting: 64, ofOneWaiting: 8 },
};

/** Renders documents as html or pdf, a few at a time, taking accounts in turn. */
export interface DocumentRenderer {
  /**
   * Renders a document; `busy` when too many are waiting, of this account or in total. `read` is called when its turn comes.
   * Throws only the errors of `read`, whatever the content.
   */
  render(
    accountId: string,
    read: () => Promise<Uint8Array>,
    format: DocumentFormat,
  ): Promise<Rendering | { kind: 'busy' }>;
  close(): Promise<void>;
}

/**
 * Creates a renderer that works in threads with limited heap and time (decision 33): the gateway keeps responding
 * meanwhile, and a malicious document fails with a reason without harming the process.
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
