import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  proxyActivities,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type {
  RecordActivities,
  SourceActivities,
} from '../../../activities/exchange/network-query.ts';
import {
  MERGE_FAILED,
  type NetworkQueryInput,
  OUR_OUTAGE_TYPES,
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
  type SourceWait,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import {
  callbackPaceMs,
  isAskedAgain,
  OUR_RETRIES,
  PAUSED_MAX_MS,
  pollDelayMs,
  SOURCE_RETRIES,
  STEP_MS_MAX,
} from '../../../exchange/queries/network-query/rules/retries.ts';
import { rowActivities } from '../../shared/failures.ts';
import { inOwnLane } from '../../shared/own-run.ts';
import type { Continuation, QueryProgress } from './progress.ts';

type AttemptOutcome =
  | { kind: 'completed'; resources: number; note?: string }
  | {
      kind: 'failed';
      reason: string;
      furtherAttemptUseful: boolean;
      abandoned: boolean;
    };

/**
 * Runs one source from its first attempt to its end: ask, wait, collect. After
 * a failure that another attempt may overcome, backs off and tries again.
 * Records the outcome in `progress` and in the database, and throws only for
 * bugs. Cancelling the surrounding scope ends the source as failed, with
 * `cancelReason()` as the reason.
 */
export async function runSource(
  input: NetworkQueryInput,
  progress: QueryProgress,
  source: SourceType,
  firstAttempt: number,
  cancelReason: () => string,
  continuation: Continuation,
): Promise<void> {
  const { deadlineMs, nextAttemptAfterMs: backOffs } = input.steering[source];
  let carried = continuation.takeWait(source);
  const first = carried?.firstAttempt ?? firstAttempt;
  for (let attempt = firstAttempt; ; attempt++) {
    const wait = carried ?? newWait(first, deadlineMs);
    if (carried === undefined) progress.begin(source, attempt);
    carried = undefined;
    const step: SourceStepInput = {
      accountId: input.accountId,
      requestId: input.requestId,
      run: input.run,
      source,
      attempt,
    };
    const outcome = await runAttempt(
      step,
      progress,
      wait,
      deadlineMs,
      continuation,
    ).catch((error: unknown) => toOutcome(error, cancelReason));
    if (outcome.kind === 'completed') {
      progress.change(source, {
        state: 'completed',
        resources: outcome.resources,
        reason: outcome.note,
      });
      return;
    }

    const { reason, abandoned } = outcome;
    const retryAfterMs = outcome.furtherAttemptUseful
      ? backOffs[attempt - first]
      : undefined;
    await recordFailure(step, { reason, abandoned, retryAfterMs });
    if (retryAfterMs === undefined) {
      progress.change(source, {
        state: 'failed',
        reason,
        nextTryAt: undefined,
      });
      return;
    }

    progress.change(source, { state: 'backing-off', reason });
    try {
      await sleep(retryAfterMs, {
        summary: `${source}: wait before attempt ${attempt + 1}`,
      });
    } catch {
      // Cancelled during the back-off: the attempt has already failed, so
      // nothing is abandoned.
      await recordFailure(step, { reason: cancelReason(), abandoned: false });
      progress.change(source, { state: 'failed', reason: cancelReason() });
      return;
    }
  }
}

const newWait = (firstAttempt: number, deadlineMs: number): SourceWait => ({
  firstAttempt,
  deadlineAt: Date.now() + deadlineMs,
  polls: 0,
  earlyCallbacks: 0,
});

/**
 * Asks the source and waits for its answer until the deadline. Before it gives
 * up, it looks a last time.
 */
async function runAttempt(
  step: SourceStepInput,
  progress: QueryProgress,
  wait: SourceWait,
  deadlineMs: number,
  continuation: Continuation,
): Promise<AttemptOutcome> {
  const ended = await untilDeadline(
    step,
    progress,
    wait,
    deadlineMs,
    continuation,
  ).catch((error: unknown): Silence => {
    if (ranOutOfTime(error)) return { kind: 'silent', error };
    throw error;
  });
  if (ended.kind !== 'silent') return ended;
  const { source, attempt } = step;
  progress.change(source, {
    state: 'collecting',
    reason: undefined,
    nextTryAt: undefined,
  });
  const summary = `${source}, attempt ${attempt}: a last look`;
  const answer = await sourceActivities(
    source,
    LAST_LOOK_MS,
    summary,
  ).collectSource(step);
  if (answer.state === 'completed') return completedBy(answer);
  const lastFailure = answer.held?.reason ?? ended.lastFailure;
  return noAnswerWithin(deadlineMs, lastFailure, ourOutage(ended.error));
}

/** The deadline has passed. `error`: a step was still being repeated then. */
interface Silence {
  kind: 'silent';
  lastFailure?: string;
  error?: Error;
}

const completedBy = ({
  resources,
  note,
}: Extract<SourceStep, { state: 'completed' }>): AttemptOutcome => ({
  kind: 'completed',
  resources,
  note,
});

async function untilDeadline(
  step: SourceStepInput,
  progress: QueryProgress,
  wait: SourceWait,
  deadlineMs: number,
  continuation: Continuation,
): Promise<AttemptOutcome | Silence> {
  const { source, attempt } = step;
  const deadlineAt = () => wait.deadlineAt + (wait.pausedMs ?? 0);
  const retries = SOURCE_RETRIES[source];
  const summary = `${source}, attempt ${attempt}`;

  let answer: SourceStep =
    wait.answer ??
    (await sourceActivities(source, deadlineMs, summary).askSource(step));
  while (answer.state === 'waiting') {
    const { held, pausedMs = 0 } = answer;
    progress.change(source, {
      state: 'waiting',
      reason: held?.reason,
      nextTryAt: held?.nextTryAt,
    });
    wait.answer = answer;
    if (pausedMs > (wait.pausedMs ?? 0) && patched('pauses-do-not-count'))
      wait.pausedMs = Math.min(pausedMs, PAUSED_MAX_MS);
    if (continuation.isDue) await continuation.park(source, wait);
    const waitMs =
      held === undefined
        ? pollDelayMs(retries, wait.polls++, answer.retryAfterMs)
        : (answer.retryAfterMs ?? retries.pollFirstMs);
    const untilAt = Math.min(Date.now() + waitMs, deadlineAt());
    const paceMs = Math.min(
      callbackPaceMs(wait.earlyCallbacks),
      untilAt - Date.now(),
    );
    if (paceMs > 0)
      await sleep(paceMs, {
        summary: `${source}: its last callback came too early`,
      });
    const called = await callbackWithin(
      step,
      progress,
      untilAt - Date.now(),
      continuation,
    );
    if (continuation.isDue) await continuation.park(source, wait);
    if (called) wait.earlyCallbacks += 1;
    if (!called && Date.now() >= deadlineAt())
      return { kind: 'silent', lastFailure: held?.reason };
    progress.change(source, {
      state: 'collecting',
      reason: undefined,
      nextTryAt: undefined,
    });
    answer = await sourceActivities(
      source,
      Math.max(deadlineAt() - Date.now(), 60_000),
      summary,
    ).collectSource(step);
  }
  return completedBy(answer);
}

/**
 * @param lastFailure why the last call to the source failed, if it did
 * @param outage which part of the exchange was away when the deadline passed,
 *   if one was
 */
function noAnswerWithin(
  deadlineMs: number,
  lastFailure?: string,
  outage?: string,
): AttemptOutcome {
  const days = deadlineMs / 86_400_000;
  const within = `No answer within ${days >= 1 ? `${days} days` : `${days * 24} hours`}`;
  const reason = [
    within,
    ...(lastFailure === undefined
      ? []
      : [`the last call failed: ${lastFailure}`]),
    ...(outage === undefined ? [] : [outage]),
  ].join('; ');
  return {
    kind: 'failed',
    reason,
    furtherAttemptUseful: false,
    abandoned: true,
  };
}

/**
 * Waits for the source's callback, or until the workflow has to continue as
 * new. Returns false when none arrives within `waitMs`.
 */
async function callbackWithin(
  step: SourceStepInput,
  progress: QueryProgress,
  waitMs: number,
  continuation: Continuation,
): Promise<boolean> {
  const { source, attempt } = step;
  const isAwake = () =>
    progress.hasCallback(source, attempt) || continuation.isDue;
  const called = await condition(isAwake, Math.max(waitMs, 1), {
    summary: `${source}: wait for its callback, then poll`,
  });
  if (!continuation.isDue) progress.takeCallback(source, attempt);
  return called;
}

/** Records the failure, even when the query is being cancelled. */
async function recordFailure(
  step: SourceStepInput,
  failure: { reason: string; abandoned: boolean; retryAfterMs?: number },
): Promise<void> {
  await CancellationScope.nonCancellable(() =>
    recordActivities(
      `${step.source}, attempt ${step.attempt} failed`,
    ).recordFailedAttempt({
      ...step,
      ...failure,
    }),
  );
}

function toOutcome(error: unknown, cancelReason: () => string): AttemptOutcome {
  if (isCancellation(error)) {
    return {
      kind: 'failed',
      reason: cancelReason(),
      furtherAttemptUseful: false,
      abandoned: true,
    };
  }
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const outage = ourOutage(cause);
  if (outage !== undefined) {
    const reason = `The exchange could not fetch the answer: ${outage}`;
    return {
      kind: 'failed',
      reason,
      furtherAttemptUseful: false,
      abandoned: true,
    };
  }
  if (cause instanceof ApplicationFailure) {
    const { type } = cause;
    const furtherAttemptUseful = isAskedAgain(type);
    // Any other failure is on our side; its message belongs in the log and is
    // not shown to callers.
    const isOfSource = Object.values<string | null | undefined>(
      SOURCE_FAILURE_TYPES,
    ).includes(type);
    const isShown = isOfSource || type === MERGE_FAILED;
    const reason = isShown
      ? cause.message
      : 'The exchange could not process the answer';
    return {
      kind: 'failed',
      reason,
      furtherAttemptUseful,
      abandoned: !isOfSource,
    };
  }
  if (cause instanceof TimeoutFailure) {
    return {
      kind: 'failed',
      reason: 'The source did not finish in time',
      furtherAttemptUseful: false,
      abandoned: true,
    };
  }
  // A bug in our code: fail the workflow task, so that a corrected worker can
  // continue from here.
  throw error;
}

/**
 * A last look at a source that may have its answer ready is repeated for so
 * long while a part of the exchange is away. A source that does not answer ends
 * it at once.
 */
const LAST_LOOK_MS = 24 * 60 * 60_000;

/**
 * Whether a step was still being repeated when its time was up, so that the
 * source may have an answer by now.
 */
const ranOutOfTime = (error: unknown): error is ActivityFailure =>
  error instanceof ActivityFailure &&
  !isCancellation(error) &&
  (error.retryState === 'TIMEOUT' || error.cause instanceof TimeoutFailure);

/**
 * Which part of the exchange kept a step from ending, and from when to now, in
 * words for callers; undefined: none.
 */
function ourOutage(error: unknown): string | undefined {
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

/**
 * The activities that talk to one source. They run on the source's own task
 * queue, with its own retries.
 *
 * @param remainingMs until the attempt's deadline; the activity fails when it
 *   passes
 */
function sourceActivities(
  source: SourceType,
  remainingMs: number,
  summary: string,
) {
  return proxyActivities<SourceActivities>({
    taskQueue: inOwnLane(TASK_QUEUES.source(source)),
    startToCloseTimeout: STEP_MS_MAX,
    scheduleToCloseTimeout: remainingMs,
    heartbeatTimeout: '30 seconds',
    retry: OUR_RETRIES,
    summary,
  });
}

/** The activities that record what happened. */
export const recordActivities = rowActivities<RecordActivities>;
