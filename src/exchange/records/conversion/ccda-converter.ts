import { type CcdaNames, startsAsXml } from '#ccda-to-fhir';
import {
  createFairThreads,
  type JobThreadLimits,
} from '../../../lib/job-thread.ts';
import { UnavailableError } from '../../platform/errors.ts';
import type { CcdaJob, CcdaOutcome } from './ccda-thread.ts';

/** Size limit for conversion, in bytes; larger documents are only stored. */
export const CCDA_BYTES_MAX = 10_000_000;

/**
 * Increase when the conversion of an unchanged document gives different
 * resources: every document is then converted again.
 */
export const CONVERSION_RULES = 11;

const THREAD = new URL('./ccda-thread.ts', import.meta.url);
const LIMITS: JobThreadLimits = {
  heapMb: 192,
  timeoutMs: 60_000,
  idleMs: 30_000,
};

/**
 * Converts C-CDA documents, one at a time per account because each may briefly
 * need much memory. Throws only UnavailableError, for a document that the
 * machine left no time: that is no fault of the document, which is converted
 * later.
 */
export interface CcdaConverter {
  convert(
    accountId: string,
    bytes: Uint8Array,
    names: CcdaNames,
  ): Promise<CcdaOutcome>;
}

/**
 * The queue needs no limit of its own: activity slots and the limits on
 * requests per account bound it.
 */
const QUEUE = {
  atOnce: 2,
  ofOneAtOnce: 1,
  waiting: Number.POSITIVE_INFINITY,
  ofOneWaiting: Number.POSITIVE_INFINITY,
};

/**
 * Creates a converter that works in a thread with its own heap limit and
 * timeout. Even a normal document takes a second of CPU time, and a malicious
 * or enormous one fails with a reason without harming the process.
 */
export function createCcdaConverter(
  limits = LIMITS,
  file = THREAD,
): CcdaConverter {
  const threads = createFairThreads<CcdaJob, CcdaOutcome>(file, limits, QUEUE);
  return {
    async convert(accountId, bytes, names) {
      // Input that is not XML needs no thread.
      if (!startsAsXml(bytes))
        return { kind: 'not-xml', reason: 'it is not XML' };
      const end = await threads.run(accountId, async () => ({
        bytes,
        ...names,
      }));
      if (end.kind === 'broken' && end.isStarved === true)
        throw new UnavailableError(
          'Documents cannot be converted at present: the machine is too busy',
        );
      return end.kind === 'answered'
        ? end.answer
        : { kind: 'failed', reason: end.reason };
    },
  };
}
