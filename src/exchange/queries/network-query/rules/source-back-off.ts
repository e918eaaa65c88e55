const SECOND = 1_000;
const FIRST_MS = 1 * SECOND;
const MAX_MS = 30 * 60 * SECOND;
/** Each wait differs from the others by up to this share, so that queries that failed together do not call together. */
const JITTER = 0.2;

/** Longer waits than this are made by the workflow, which shows them and can end them; shorter ones by the activity. */
export const SHORT_WAIT_MAX_MS = 30 * SECOND;

/**
 * How long an attempt waits before it calls its source again, in milliseconds: 1, 2, 4, … seconds, at most half an hour,
 * give or take a fifth. Never shorter than the source's Retry-After.
 *
 * @param failedCalls calls of this attempt that failed in a row, at least 1
 * @param random from 0 to 1
 */
export function waitAfterFailedCalls(failedCalls: number, retryAfterMs = 0, random = Math.random()): number {
  const grown = Math.min(FIRST_MS * 2 ** Math.min(failedCalls - 1, 30), MAX_MS);
  const spread = grown * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(Math.min(spread, MAX_MS), retryAfterMs));
}
