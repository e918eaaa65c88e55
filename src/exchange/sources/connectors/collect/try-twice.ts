import { setTimeout as delay } from 'node:timers/promises';
import { SourceFailure } from '../connector.ts';

const RETRY_DELAY_MAX_MS = 2_000;

export const isTransient = ({ kind }: SourceFailure): boolean =>
  kind === 'transport' || kind === 'rate-limited';

/** Retries once, after a short delay, when the failure is transient. Returns the second failure, does not throw it. */
export async function tryTwice<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T | SourceFailure> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof SourceFailure) || signal.aborted) throw error;
      if (!isFirst || !isTransient(error)) return error;
      const waitMs = Math.min(error.options.retryAfterMs ?? 200, RETRY_DELAY_MAX_MS);
      await delay(waitMs, undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
}
