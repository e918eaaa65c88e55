import {
  SOURCE_FAILURE_TYPES,
  type SourceSteering,
} from '../../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../../contract/source-types.ts';

/*
 * When a source is called again, asked again or given up: all waits and limits
 * of a query, for its workflow, for the steps on a source and for the parts of
 * an attempt.
 */

/**
 * What follows a failed call to a source, by the kind of its failure
 * (`SourceFailureKind`), under which type the workflow gets it, and whether the
 * source would fail or refuse any query, so that the failure counts for its
 * breaker. (With a 429 it answers, but not so fast.)
 * - `call-again`: the same call is made again, until the deadline of the
 *   attempt.
 * - `ask-again`: the attempt, or the part, fails; another one may succeed.
 * - `give-up`: it fails, and no other one would succeed.
 */
export const AFTER_FAILURE = {
  transport: {
    next: 'call-again',
    isOutage: true,
    type: SOURCE_FAILURE_TYPES.transport,
  },
  'rate-limited': {
    next: 'call-again',
    isOutage: false,
    type: SOURCE_FAILURE_TYPES.rateLimited,
  },
  denied: {
    next: 'call-again',
    isOutage: true,
    type: SOURCE_FAILURE_TYPES.denied,
  },
  refused: {
    next: 'give-up',
    isOutage: false,
    type: SOURCE_FAILURE_TYPES.refused,
  },
  'bad-answer': {
    next: 'ask-again',
    isOutage: false,
    type: SOURCE_FAILURE_TYPES.badAnswer,
  },
  'job-failed': {
    next: 'ask-again',
    isOutage: false,
    type: SOURCE_FAILURE_TYPES.jobFailed,
  },
} as const;

/**
 * Whether a further attempt may succeed after an attempt that failed with this
 * type.
 */
export const isAskedAgain = (type: string | null | undefined): boolean =>
  Object.values(AFTER_FAILURE).some(
    (after) => after.next === 'ask-again' && after.type === type,
  );

/** Times in milliseconds. */
export interface SourceRetries extends SourceSteering {
  /**
   * How long before the deadline of its source a connection fails: longer than
   * the workflow waits between two polls.
   */
  partMarginMs: number;
  /** First wait for a callback before the source is polled. */
  pollFirstMs: number;
  /** Each further wait is longer by this share of the time waited so far. */
  pollShare: number;
  pollMaxMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NEXT_ATTEMPT_AFTER_MS = [5 * SECOND, 5 * MINUTE];

/**
 * National networks answer within minutes to days, pharmacies at once, labs
 * within a week. Each poll is an action that Temporal Cloud bills, so a lab is
 * polled rarely. What decides which step comes next (`SourceSteering`) is
 * written into the input of each new query, so that a change applies to new
 * queries only; the rest sets how long a step takes, and may change while
 * queries run.
 */
export const SOURCE_RETRIES: Record<SourceType, SourceRetries> = {
  hie: {
    deadlineMs: 48 * HOUR,
    nextAttemptAfterMs: NEXT_ATTEMPT_AFTER_MS,
    partMarginMs: 2 * HOUR,
    pollFirstMs: 30 * SECOND,
    pollShare: 0.5,
    pollMaxMs: 30 * MINUTE,
  },
  pharmacy: {
    deadlineMs: 6 * HOUR,
    nextAttemptAfterMs: NEXT_ATTEMPT_AFTER_MS,
    partMarginMs: HOUR,
    pollFirstMs: 30 * SECOND,
    pollShare: 0.5,
    pollMaxMs: 15 * MINUTE,
  },
  lab: {
    deadlineMs: 7 * 24 * HOUR,
    nextAttemptAfterMs: NEXT_ATTEMPT_AFTER_MS,
    partMarginMs: 18 * HOUR,
    pollFirstMs: 30 * SECOND,
    pollShare: 1,
    pollMaxMs: 16 * HOUR,
  },
};

/**
 * Failures on our side (the database is down, a worker was killed) never fail a
 * source: Temporal repeats the step until the attempt's deadline. After a
 * failed call to the source, the step sets the wait itself
 * (`waitAfterFailedCalls`).
 */
export const OUR_RETRIES = {
  initialInterval: 1 * SECOND,
  backoffCoefficient: 2,
  maximumInterval: 5 * MINUTE,
};

/**
 * One execution of a step. It ends by itself when its time box is over
 * (`time-box.ts`) and the unit that it works on is stored; this ends one that
 * hangs. The longest units: some sixty requests to find a person and ask for
 * their data, and what was read of a large file before.
 */
export const STEP_MS_MAX = 2 * HOUR;

/** When a step whose time is over is repeated: others have had their turn. */
export const GOES_ON_AFTER_MS = 1 * SECOND;

/**
 * A step on a job or cursor that another build has stored is repeated soon, so
 * that a worker of that build takes it.
 */
export const OTHER_BUILD_RETRY_MS = 5 * SECOND;

/**
 * Longer waits than this are made by the workflow, which shows them and can end
 * them; shorter ones by the activity.
 */
export const SHORT_WAIT_MAX_MS = 30 * SECOND;

const CALL_FIRST_MS = 1 * SECOND;
const CALL_MAX_MS = 30 * MINUTE;
/**
 * Each wait differs from the others by up to this share, so that queries that
 * failed together do not call together.
 */
const JITTER = 0.2;

/**
 * How long an attempt waits before it calls its source again, in milliseconds:
 * 1, 2, 4, … seconds, at most half an hour, give or take a fifth. Never shorter
 * than the source's Retry-After.
 *
 * @param failedCalls calls of this attempt that failed in a row, at least 1
 * @param random from 0 to 1
 */
export function waitAfterFailedCalls(
  failedCalls: number,
  retryAfterMs = 0,
  random = Math.random(),
): number {
  const grown = Math.min(
    CALL_FIRST_MS * 2 ** Math.min(failedCalls - 1, 30),
    CALL_MAX_MS,
  );
  const spread = grown * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(Math.min(spread, CALL_MAX_MS), retryAfterMs));
}

/**
 * A connection that has not answered after this long fails, while the answers
 * of the others are kept: at its deadline the source as a whole would fail.
 */
export const partDeadlineMs = (source: SourceType): number =>
  SOURCE_RETRIES[source].deadlineMs - SOURCE_RETRIES[source].partMarginMs;

export const noAnswerText = (source: SourceType): string =>
  `No answer within ${partDeadlineMs(source) / HOUR} hours`;

/**
 * Time under an operator's pause does not count for a deadline, up to this: a
 * pause that is forgotten must not keep queries open.
 */
export const PAUSED_MAX_MS = 14 * 24 * HOUR;

/**
 * The wait before a connection that accepted the request and then failed is
 * asked again; undefined: it fails.
 */
export const waitAfterFailedTries = (
  source: SourceType,
  failedTries: number,
): number | undefined => SOURCE_RETRIES[source].nextAttemptAfterMs[failedTries];

const CALLBACK_PACE_FIRST_MS = 5 * SECOND;
const CALLBACK_PACE_MAX_MS = 15 * MINUTE;

/**
 * How long after a poll the next callback is obeyed, in milliseconds. An early
 * callback says that the data is ready when it is not, and costs a poll; the
 * time grows with their number, so that a chatty source does not fill the
 * workflow's history.
 */
export function callbackPaceMs(earlyCallbacks: number): number {
  if (earlyCallbacks === 0) return 0;
  return Math.min(
    CALLBACK_PACE_FIRST_MS * 2 ** Math.min(earlyCallbacks - 1, 20),
    CALLBACK_PACE_MAX_MS,
  );
}

/**
 * How long to wait for a callback before polling, in milliseconds. Starts with
 * the source's Retry-After, or else with the table's first wait, and grows with
 * the time waited so far.
 */
export function pollDelayMs(
  {
    pollFirstMs,
    pollShare,
    pollMaxMs,
  }: Pick<SourceRetries, 'pollFirstMs' | 'pollShare' | 'pollMaxMs'>,
  waitedMs: number,
  retryAfterMs?: number,
): number {
  const first = Math.max(retryAfterMs ?? pollFirstMs, SECOND);
  const grown = Math.round(first + Math.max(waitedMs, 0) * pollShare);
  return Math.min(grown, Math.max(pollMaxMs, first));
}
