const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Delays between attempts, beginning after the first (docs/interface.md,
 * Delivery).
 */
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
 * The delay after `attemptsMade` attempts, plus up to 10 % of jitter (`random`
 * in [0, 1)), so that a receiver that recovers does not get all events at once.
 * A Retry-After of the receiver, of at most a day, is a lower bound. Undefined
 * if the schedule is exhausted and the event is dead-lettered.
 */
export function deliveryDelayMs(
  attemptsMade: number,
  random: number,
  retryAfterMs = 0,
): number | undefined {
  if (attemptsMade === 0) return 0;
  const delay = DELIVERY_DELAYS_MS[attemptsMade - 1];
  if (delay === undefined) return undefined;
  return Math.max(
    delay * (1 + JITTER * random),
    Math.min(retryAfterMs, 24 * HOUR),
  );
}

const MINUTE_MS = 60_000;

/**
 * Number of different events that must fail in a row before a destination is
 * held.
 */
const FAILURES_MAX = 5;
const PROBE_FIRST_MS = 5_000;
const PROBE_MAX_MS = 5 * MINUTE_MS;
const RETRY_AFTER_MAX_MS = 24 * 60 * MINUTE_MS;

/**
 * An event that waited this long for a held destination is dead-lettered: the
 * time that its own ten attempts would take.
 */
export const HELD_EVENT_MAX_MS = DELIVERY_DELAYS_MS.reduce(
  (total, delay) => total + delay,
  0,
);

/**
 * After a hold of this length, events do not wait for their own next attempt:
 * the outage explains their failures. After a shorter one they do, so that
 * events which fail for a reason of their own do not use up their attempts at
 * each hold.
 */
export const OUTAGE_MIN_MS = 5 * MINUTE_MS;

/**
 * How long a destination is held after its latest failure: 5 s, doubled with
 * each failed probe up to five minutes, with up to 10 % of jitter (`random` in
 * [0, 1)); a Retry-After of the receiver, of at most a day, is a lower bound.
 * Undefined if it is not held yet.
 */
export function holdMs(
  failures: number,
  random: number,
  retryAfterMs = 0,
): number | undefined {
  if (failures < FAILURES_MAX) return undefined;
  const delayMs = Math.min(
    PROBE_MAX_MS,
    PROBE_FIRST_MS * 2 ** Math.min(failures - FAILURES_MAX, 30),
  );
  return Math.max(
    delayMs * (1 + 0.1 * random),
    Math.min(retryAfterMs, RETRY_AFTER_MAX_MS),
  );
}
