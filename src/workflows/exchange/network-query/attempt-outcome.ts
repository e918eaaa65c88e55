import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow';
import {
  MERGE_FAILED,
  OUR_OUTAGE_TYPES,
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type WaitingStep,
} from '../../../contract/network-query-workflow.ts';
import { isAskedAgain } from '../../../exchange/queries/network-query/rules/retries.ts';

/** How one attempt at a source ended, in words for callers. */
export type AttemptOutcome =
  | { kind: 'completed'; resources: number; note?: string }
  | {
      kind: 'failed';
      reason: string;
      furtherAttemptUseful: boolean;
      /** The source may still be at work on an answer that nobody awaits. */
      abandoned: boolean;
    };

/** The outcome of an attempt whose last step has all the answer. */
export const completedBy = ({
  resources,
  note,
}: Extract<SourceStep, { state: 'completed' }>): AttemptOutcome => ({
  kind: 'completed',
  resources,
  note,
});

/**
 * The outcome of an attempt whose deadline has passed.
 *
 * @param lastFailure why the last call to the source failed, if it did
 * @param outage which part of the exchange was away when the deadline passed,
 *   if one was
 */
export function noAnswerWithin(
  deadlineMs: number,
  lastFailure?: string,
  outage?: string,
): AttemptOutcome {
  const days = deadlineMs / 86_400_000;
  const within = days >= 1 ? `${days} days` : `${days * 24} hours`;

  const reasons = [`No answer within ${within}`];
  if (lastFailure !== undefined)
    reasons.push(`the last call failed: ${lastFailure}`);
  if (outage !== undefined) reasons.push(outage);
  return abandonedBecause(reasons.join('; '));
}

/**
 * The outcome of an attempt of which a step has thrown. Throws a bug in our
 * code: it fails the workflow task, so that a corrected worker can continue
 * from here.
 */
export function outcomeOfError(
  error: unknown,
  cancelReason: string,
): AttemptOutcome {
  if (isCancellation(error)) return abandonedBecause(cancelReason);

  const cause = error instanceof ActivityFailure ? error.cause : error;
  const outage = ourOutage(cause);
  if (outage !== undefined)
    return abandonedBecause(
      `The exchange could not fetch the answer: ${outage}`,
    );
  if (cause instanceof ApplicationFailure) return outcomeOfFailure(cause);
  if (cause instanceof TimeoutFailure)
    return abandonedBecause('The source did not finish in time');
  throw error;
}

/**
 * A failure that is neither of the source nor of merging its answer is ours:
 * its message belongs in the log and is not shown to callers.
 */
function outcomeOfFailure({
  type,
  message,
}: ApplicationFailure): AttemptOutcome {
  const isOfSource = Object.values<string | null | undefined>(
    SOURCE_FAILURE_TYPES,
  ).includes(type);
  const isShown = isOfSource || type === MERGE_FAILED;
  return {
    kind: 'failed',
    reason: isShown ? message : 'The exchange could not process the answer',
    furtherAttemptUseful: isAskedAgain(type),
    abandoned: !isOfSource,
  };
}

const abandonedBecause = (reason: string): AttemptOutcome => ({
  kind: 'failed',
  reason,
  furtherAttemptUseful: false,
  abandoned: true,
});

/**
 * Whether a step was still being repeated when its time was up, so that the
 * source may have an answer by now.
 */
export const ranOutOfTime = (error: unknown): error is ActivityFailure =>
  error instanceof ActivityFailure &&
  !isCancellation(error) &&
  (error.retryState === 'TIMEOUT' || error.cause instanceof TimeoutFailure);

/**
 * What the source answered to the last look, when no further one fits in before
 * the deadline; undefined: the step ended for another reason.
 */
export function pendingAnswer(error: unknown): WaitingStep | undefined {
  if (!ranOutOfTime(error) || !(error.cause instanceof ApplicationFailure))
    return undefined;
  const { type, details } = error.cause;
  return type === SOURCE_FAILURE_TYPES.pending
    ? (details?.[0] as WaitingStep)
    : undefined;
}

/**
 * Which part of the exchange kept a step from ending, and from when to now, in
 * words for callers; undefined: none.
 */
export function ourOutage(error: unknown): string | undefined {
  if (error instanceof ApplicationFailure) {
    const [part] =
      Object.entries(OUR_OUTAGE_TYPES).find(
        ([, type]) => type === error.type,
      ) ?? [];
    const [since] = error.details ?? [];
    if (part !== undefined && typeof since === 'string')
      return `our ${part} was away from ${minuteOf(since)} to ${minuteOf(new Date().toISOString())}`;
  }
  // A timeout has the failure of the last try as its cause.
  return error instanceof Error && error.cause !== undefined
    ? ourOutage(error.cause)
    : undefined;
}

/** `2026-11-22 09:52 UTC` */
const minuteOf = (instant: string): string =>
  `${instant.slice(0, 16).replace('T', ' ')} UTC`;
