import type { Worker } from 'node:worker_threads';
import type { DocumentFormat } from '../../contract/document.ts';
import { startSourceThread } from '../../lib/source-thread.ts';
import type { Rendering } from './render.ts';
import type { RenderJob } from './render-thread.ts';

export interface RenderLimits {
  /** JavaScript heap of the thread. */
  heapMb: number;
  timeoutMs: number;
  /** How many may wait for their turn; whoever comes then is told to come later. */
  waitingMax: number;
  /** The thread ends when it has had nothing to do for so long. */
  idleMs: number;
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
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const drop = async () => {
    const dropped = thread;
    thread = undefined;
    await dropped?.terminate();
  };

  async function renderNow(job: RenderJob): Promise<Rendering> {
    clearTimeout(idle);
    thread ??= startSourceThread(new URL('./render-thread.ts', import.meta.url), { heapMb: limits.heapMb });
    thread.ref();
    const rendering = await answerOf(thread, job, limits.timeoutMs);
    if (rendering.kind === 'broken') {
      await drop();
      return { kind: 'refused', reason: rendering.reason };
    }
    thread.unref();
    idle = setTimeout(() => void drop(), limits.idleMs);
    idle.unref();
    return rendering;
  }

  return {
    render(bytes, format) {
      if (waiting >= limits.waitingMax) return Promise.resolve({ kind: 'busy' });
      waiting += 1;
      const rendering = turn.then(() => renderNow({ bytes, format })).finally(() => (waiting -= 1));
      turn = rendering.catch(() => undefined);
      return rendering;
    },
    async close() {
      clearTimeout(idle);
      await drop();
    },
  };
}

/** `broken`: the thread is of no use any more. */
function answerOf(
  thread: Worker,
  job: RenderJob,
  timeoutMs: number,
): Promise<Rendering | { kind: 'broken'; reason: string }> {
  return new Promise((resolve) => {
    const end = (answer: Rendering | { kind: 'broken'; reason: string }) => {
      clearTimeout(timer);
      for (const event of ['message', 'error', 'exit']) thread.removeAllListeners(event);
      // An error after its answer is of no interest, and must not end the process.
      thread.on('error', () => undefined);
      resolve(answer);
    };
    const broken = (reason: string) => end({ kind: 'broken', reason });
    const timer = setTimeout(() => broken('it took too long'), timeoutMs);
    thread.once('message', (rendering: Rendering) => end(rendering));
    thread.once('error', (error: NodeJS.ErrnoException) =>
      broken(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it needs too much memory' : 'its conversion ended early',
      ),
    );
    thread.once('exit', () => broken('its conversion ended early'));
    thread.postMessage(job);
  });
}
