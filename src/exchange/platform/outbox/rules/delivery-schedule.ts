const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Delays between attempts, beginning after the first (docs/interface.md, Delivery). */
export const DELIVERY_DELAYS_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;

const JITTER = 0.1;

/**
 * The delay after `attemptsMade` attempts, plus up to 10 % of jitter (`random` in [0, 1)), so that a receiver that recovers
 * does not get all events at once. A Retry-After of the receiver, of at most a day, is a lower bound. Undefined if the
 * schedule is exhausted and the event is dead-lettered.
 */
export function deliveryDelayMs(attemptsMade: number, random: number, retryAfterMs = 0): number | undefined {
  if (attemptsMade === 0) return 0;
  const delay = DELIVERY_DELAYS_MS[attemptsMade - 1];
  if (delay === undefined) return undefined;
  return Math.max(delay * (1 + JITTER * random), Math.min(retryAfterMs, 24 * HOUR));
}
