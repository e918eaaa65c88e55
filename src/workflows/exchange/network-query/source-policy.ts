import type { Duration, RetryPolicy } from '@temporalio/common';
import type { NetworkQueryInput, SourceSteering } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { UNSTATED } from '../../shared/unstated.ts';

/**
 * Retries and polling for one kind of source. These values may change while queries run, because they only set how long a
 * step takes. What decides which step comes next (deadlines, number of attempts) is in the input: `steeringOf`.
 */
export interface SourcePolicy {
  /** One execution of an activity: the request and, when data is available at once, its collection. */
  startToClose: Duration;
  heartbeatTimeout: Duration;
  /** Retries of one call, within an attempt. */
  retry: RetryPolicy;
  /** First wait for a callback before the source is polled; each further wait is 1.5 times as long. */
  pollFirstMs: number;
  pollMaxMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Failures on our side (the database is down, a worker was killed) never fail a source: they are retried until the
 * attempt's deadline. For a failed call to the source, the activity sets the wait (`rules/source-back-off.ts`).
 */
const callRetry: RetryPolicy = {
  initialInterval: 1 * SECOND,
  backoffCoefficient: 2,
  maximumInterval: 5 * MINUTE,
};

export const SOURCE_POLICIES: Record<SourceType, SourcePolicy> = {
  hie: {
    startToClose: '30 minutes',
    heartbeatTimeout: '30 seconds',
    retry: callRetry,
    pollFirstMs: 30 * SECOND,
    pollMaxMs: 30 * MINUTE,
  },
  pharmacy: {
    startToClose: '10 minutes',
    heartbeatTimeout: '30 seconds',
    retry: callRetry,
    pollFirstMs: 30 * SECOND,
    pollMaxMs: 15 * MINUTE,
  },
  lab: {
    startToClose: '10 minutes',
    heartbeatTimeout: '30 seconds',
    retry: callRetry,
    pollFirstMs: 30 * SECOND,
    pollMaxMs: 1 * HOUR,
  },
};

export const steeringOf = ({ steering }: NetworkQueryInput, source: SourceType): SourceSteering =>
  (steering ?? UNSTATED.sources)[source];

const CALLBACK_PACE_FIRST_MS = 5 * SECOND;
const CALLBACK_PACE_MAX_MS = 15 * MINUTE;

/**
 * How long after a poll the next callback is obeyed, in milliseconds. An early callback says that the data is ready when it is
 * not, and costs a poll; the time grows with their number, so that a chatty source does not fill the workflow's history.
 */
export function callbackPaceMs(earlyCallbacks: number): number {
  if (earlyCallbacks === 0) return 0;
  return Math.min(CALLBACK_PACE_FIRST_MS * 2 ** Math.min(earlyCallbacks - 1, 20), CALLBACK_PACE_MAX_MS);
}

/**
 * How long to wait for a callback before polling, in milliseconds. Starts with the source's Retry-After, or else with the
 * policy's first wait, and grows by half with each of the `polls` made so far.
 */
export function pollDelayMs(policy: SourcePolicy, polls: number, retryAfterMs?: number): number {
  const first = Math.max(retryAfterMs ?? policy.pollFirstMs, SECOND);
  return Math.min(first * 1.5 ** polls, Math.max(policy.pollMaxMs, first));
}
