import type { Duration, RetryPolicy } from '@temporalio/common';
import type { SourceType } from '../../../contract/primitives.ts';

/** How the exchange treats one kind of source. */
export interface SourcePolicy {
  /** One call of an activity: the request and, where data comes at once, its collection. */
  startToClose: Duration;
  /** The source ends as failed when it has not answered an attempt by then. */
  deadlineMs: number;
  heartbeatTimeout: Duration;
  /** The same call again, within one attempt. */
  retry: RetryPolicy;
  /** Waits before a further attempt, when the source took the request and then failed. */
  nextAttemptAfterMs: readonly number[];
  /** First wait for a callback before the source is asked; it grows by half each time. */
  pollFirstMs: number;
  pollMaxMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * A source that does not answer is given up after SOURCE_CALLS_MAX calls, by the activity itself. Our own faults
 * (the database is away, the worker was killed) must not fail a source: they are bridged for two hours.
 */
const callRetry: RetryPolicy = {
  initialInterval: 1 * SECOND,
  backoffCoefficient: 2,
  maximumInterval: 5 * MINUTE,
  maximumAttempts: 30,
};

/** One row per source. National networks answer in minutes to days, pharmacies at once, labs within a week. */
export const SOURCE_POLICIES: Record<SourceType, SourcePolicy> = {
  hie: {
    startToClose: '30 minutes',
    deadlineMs: 2 * DAY,
    heartbeatTimeout: '30 seconds',
    retry: callRetry,
    nextAttemptAfterMs: [5 * SECOND, 5 * MINUTE],
    pollFirstMs: 30 * SECOND,
    pollMaxMs: 30 * MINUTE,
  },
  pharmacy: {
    startToClose: '10 minutes',
    deadlineMs: 6 * HOUR,
    heartbeatTimeout: '30 seconds',
    retry: callRetry,
    nextAttemptAfterMs: [5 * SECOND, 5 * MINUTE],
    pollFirstMs: 30 * SECOND,
    pollMaxMs: 15 * MINUTE,
  },
  lab: {
    startToClose: '10 minutes',
    deadlineMs: 7 * DAY,
    heartbeatTimeout: '30 seconds',
    retry: callRetry,
    nextAttemptAfterMs: [5 * SECOND, 5 * MINUTE],
    pollFirstMs: 30 * SECOND,
    pollMaxMs: 1 * HOUR,
  },
};

/**
 * How long to wait for a callback before asking: what the source asked for (Retry-After) when it said so, else
 * the policy's first wait, growing by half with each time the source was asked in vain.
 */
export function pollDelayMs(policy: SourcePolicy, askedInVain: number, retryAfterMs?: number): number {
  const first = Math.max(retryAfterMs ?? policy.pollFirstMs, SECOND);
  return Math.min(first * 1.5 ** askedInVain, Math.max(policy.pollMaxMs, first));
}
