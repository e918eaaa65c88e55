import { createFairThreads } from '../../../lib/fair-threads.ts';
import type { JobThreadLimits } from '../../../lib/job-thread.ts';
import type { CcdaJob } from './ccda-thread.ts';
import type { CcdaConversion, CcdaNames } from './convert.ts';
import { startsAsXml } from './xml-gate.ts';

/** Largest C-CDA document that is converted; larger ones are kept as documents only. */
export const CCDA_BYTES_MAX = 10_000_000;

/** To be raised when the conversion says something else of the same document: every document is then converted again. */
export const CONVERSION_RULES = 1;

const LIMITS: JobThreadLimits = { heapMb: 192, timeoutMs: 60_000, idleMs: 30_000 };

export type CcdaOutcome = CcdaConversion | { kind: 'failed'; reason: string };

/** Converts documents, of one account one after another: each may need much memory for a moment. Never throws. */
export interface CcdaConverter {
  convert(accountId: string, bytes: Uint8Array, names: CcdaNames): Promise<CcdaOutcome>;
}

/** How many wait is bounded where they come from: the slots of a worker, an account's requests under way. */
const QUEUE = {
  atOnce: 2,
  ofOneAtOnce: 1,
  waiting: Number.POSITIVE_INFINITY,
  ofOneWaiting: Number.POSITIVE_INFINITY,
};

/**
 * Documents are converted in a thread with a heap and a time of its own, for even an honest one takes a second: the worker
 * goes on with all else, and a malicious or enormous one ends with a reason and takes nothing with it.
 */
export function createCcdaConverter(limits: JobThreadLimits = LIMITS): CcdaConverter {
  const threads = createFairThreads<CcdaJob, CcdaOutcome>(
    new URL('./ccda-thread.ts', import.meta.url),
    limits,
    QUEUE,
  );
  return {
    async convert(accountId, bytes, names) {
      // What is no XML needs no thread.
      if (!startsAsXml(bytes)) return { kind: 'not-xml', reason: 'it has nothing that is XML' };
      const end = await threads.run(accountId, async () => ({ bytes, ...names }));
      return end.kind === 'answered' ? end.answer : { kind: 'failed', reason: end.reason };
    },
  };
}
