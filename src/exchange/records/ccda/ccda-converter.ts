import { startSourceThread } from '../../../lib/source-thread.ts';
import type { CcdaThreadInput } from './ccda-thread.ts';
import { type CcdaConversion, type CcdaNames, convertCcda } from './convert.ts';

/** Largest C-CDA document that is converted; larger ones are kept as documents only. */
export const CCDA_BYTES_MAX = 10_000_000;

export interface CcdaLimits {
  /** From here on a document gets a thread of its own; a smaller one is converted where it is, in some 100 ms. */
  threadFromBytes: number;
  /** JavaScript heap of that thread. */
  heapMb: number;
  timeoutMs: number;
}

const LIMITS: CcdaLimits = { threadFromBytes: 1_000_000, heapMb: 192, timeoutMs: 60_000 };

export type CcdaOutcome = CcdaConversion | { kind: 'failed'; reason: string };

/** Converts documents one after another: each may need much memory for a moment. Never throws. */
export interface CcdaConverter {
  convert(bytes: Uint8Array, names: CcdaNames): Promise<CcdaOutcome>;
}

/**
 * A document that is large runs in a thread with a heap and a time of its own, so that a malicious or enormous one
 * ends with a reason and takes nothing with it.
 */
export function createCcdaConverter(limits: CcdaLimits = LIMITS): CcdaConverter {
  let turn: Promise<unknown> = Promise.resolve();
  return {
    convert(bytes, names) {
      if (bytes.length < limits.threadFromBytes) return Promise.resolve(convertHere(bytes, names));
      const outcome = turn.then(() => convertInThread(bytes, names, limits));
      turn = outcome;
      return outcome;
    },
  };
}

function convertHere(bytes: Uint8Array, names: CcdaNames): CcdaOutcome {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return convertCcda(bytes, names);
  } catch {
    return { kind: 'failed', reason: 'it is not well-formed' };
  } finally {
    console.warn = warn;
  }
}

const THREAD = new URL('./ccda-thread.ts', import.meta.url);
function convertInThread(bytes: Uint8Array, names: CcdaNames, limits: CcdaLimits): Promise<CcdaOutcome> {
  const workerData: CcdaThreadInput = { ...names, bytes };
  const thread = startSourceThread(THREAD, { heapMb: limits.heapMb, workerData });
  return new Promise((resolve) => {
    const end = (outcome: CcdaOutcome) => {
      clearTimeout(timer);
      resolve(outcome);
      void thread.terminate();
    };
    const timer = setTimeout(() => end({ kind: 'failed', reason: 'it took too long' }), limits.timeoutMs);
    thread.once('message', (outcome: CcdaConversion) => end(outcome));
    thread.once('error', (error: NodeJS.ErrnoException) =>
      end({
        kind: 'failed',
        reason:
          error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it needs too much memory' : 'it is not well-formed',
      }),
    );
    thread.once('exit', () => end({ kind: 'failed', reason: 'its conversion ended early' }));
  });
}
