import type { DocumentFormat } from '../../contract/document.ts';
import { createJobThread, type JobThreadLimits } from '../../lib/job-thread.ts';
import type { Rendering } from './render.ts';
import type { RenderJob } from './render-thread.ts';

export interface RenderLimits extends JobThreadLimits {
  /** How many may wait for their turn; whoever comes then is told to come later. */
  waitingMax: number;
}

const LIMITS: RenderLimits = { heapMb: 384, timeoutMs: 30_000, waitingMax: 8, idleMs: 60_000 };

/** Makes html and pdf of documents, one after another. */
export interface DocumentRenderer {
  /** `busy`: too many are waiting. Never throws, whatever the bytes are. */
  render(bytes: Uint8Array, format: DocumentFormat): Promise<Rendering | { kind: 'busy' }>;
  close(): Promise<void>;
}

/**
 * Documents are rendered in a thread of their own with a bounded heap and time (decision 33): a gateway goes on
 * answering while it renders, and a document that is made to hurt ends with a reason and takes nothing with it.
 */
export function createDocumentRenderer(limits: RenderLimits = LIMITS): DocumentRenderer {
  const thread = createJobThread<RenderJob, Rendering>(
    new URL('./render-thread.ts', import.meta.url),
    limits,
  );
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  async function renderNow(job: RenderJob): Promise<Rendering> {
    const end = await thread.run(job);
    return end.kind === 'answered' ? end.answer : { kind: 'refused', reason: end.reason };
  }

  return {
    render(bytes, format) {
      if (waiting >= limits.waitingMax) return Promise.resolve({ kind: 'busy' });
      waiting += 1;
      const rendering = turn.then(() => renderNow({ bytes, format })).finally(() => (waiting -= 1));
      turn = rendering.catch(() => undefined);
      return rendering;
    },
    close: () => thread.close(),
  };
}
