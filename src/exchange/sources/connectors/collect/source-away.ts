import { setTimeout as delay } from 'node:timers/promises';
import { SourceFailure } from '../connector.ts';
import type { SourceContext } from '../source-context.ts';

/**
 * Throws if the source is away, limits us or refuses our credentials. Called before a part of a result is left out for good,
 * because what an outage hides must be asked for again. Sends one request, whose answer does not matter otherwise.
 *
 * @param path below the base address
 * @throws SourceFailure. A 403, 500 or 501 may be about this one request, so it counts as an answer.
 */
export async function throwIfSourceIsAway(
  { config, http }: SourceContext,
  { path, label }: { path: string; label: string },
  signal: AbortSignal,
): Promise<void> {
  const url = new URL(path, config.baseUrl);
  const response = await http.send({ method: 'GET', url, label, signal }).catch((error: unknown) => {
    if (error instanceof SourceFailure && !mayBeAway(error)) return undefined;
    throw error;
  });
  if (response === undefined) return;
  if (AWAY.has(response.status)) throw await http.failureOf(response, label);
  await response.discard();
}

const AWAY = new Set([401, 408, 429, 502, 503, 504]);

/** Whether a failure of one request may be that of the whole source. */
export const mayBeAway = ({ kind, options }: SourceFailure): boolean =>
  kind === 'transport' || kind === 'rate-limited' || (kind === 'denied' && options.httpStatus !== 403);

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
