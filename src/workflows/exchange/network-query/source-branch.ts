import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import {
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
} from '../../../contract/network-query-steps.ts';
import type { NetworkQueryInput } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { recordActivities, sourceActivities } from './activities.ts';
import type { QueryProgress } from './progress.ts';
import { pollDelayMs, SOURCE_POLICIES } from './source-policy.ts';

type AttemptOutcome =
  | { kind: 'completed'; resources: number; note?: string }
  | { kind: 'failed'; reason: string; furtherAttemptUseful: boolean; abandoned: boolean };

/**
 * One source, from its first attempt to its end: ask, wait, collect; after a failure that another attempt may
 * mend, back off and begin again. Never throws; what happened is in `progress` and in the database.
 * Cancelling the surrounding scope ends the source as failed, with `whyCancelled()` as the reason.
 */
export async function runSource(
  input: NetworkQueryInput,
  progress: QueryProgress,
  source: SourceType,
  firstAttempt: number,
  whyCancelled: () => string,
): Promise<void> {
  const backOffs = SOURCE_POLICIES[source].nextAttemptAfterMs;
  for (let attempt = firstAttempt; ; attempt++) {
    progress.begin(source, attempt);
    const step: SourceStepInput = {
      accountId: input.accountId,
      requestId: input.requestId,
      run: input.run,
      source,
      attempt,
    };
    const outcome = await runAttempt(step, progress).catch((error: unknown) =>
      toOutcome(error, whyCancelled),
    );
    if (outcome.kind === 'completed') {
      progress.change(source, { state: 'completed', resources: outcome.resources, reason: outcome.note });
      return;
    }

    const { reason, abandoned } = outcome;
    const retryAfterMs = outcome.furtherAttemptUseful ? backOffs[attempt - firstAttempt] : undefined;
    await recordFailure(step, { reason, abandoned, retryAfterMs });
    if (retryAfterMs === undefined) {
      progress.change(source, { state: 'failed', reason });
      return;
    }

    progress.change(source, { state: 'backing-off', reason });
    try {
      await sleep(retryAfterMs, { summary: `${source}: wait before attempt ${attempt + 1}` });
    } catch {
      // Given up while waiting: the last attempt's failure stands.
      await recordFailure(step, { reason: whyCancelled(), abandoned: false });
      progress.change(source, { state: 'failed', reason: whyCancelled() });
      return;
    }
  }
}

async function runAttempt(step: SourceStepInput, progress: QueryProgress): Promise<AttemptOutcome> {
  const { source, attempt } = step;
  const policy = SOURCE_POLICIES[source];
  const deadlineAt = Date.now() + policy.deadlineMs;
  const summary = `${source}, attempt ${attempt}`;

  let answer: SourceStep = await sourceActivities(source, policy.deadlineMs, summary).askSource(step);
  for (let askedInVain = 0; answer.state === 'waiting'; askedInVain++) {
    progress.change(source, { state: 'waiting' });
    const waitMs = pollDelayMs(policy, askedInVain, answer.retryAfterMs);
    const called = await callbackWithin(step, progress, Math.min(waitMs, deadlineAt - Date.now()));
    if (!called && Date.now() >= deadlineAt) return noAnswerWithin(policy.deadlineMs);
    progress.change(source, { state: 'collecting' });
    answer = await sourceActivities(source, Math.max(deadlineAt - Date.now(), 60_000), summary).collectSource(
      step,
    );
  }
  return { kind: 'completed', resources: answer.resources, note: answer.note };
}

function noAnswerWithin(deadlineMs: number): AttemptOutcome {
  const days = deadlineMs / 86_400_000;
  const reason = `No answer within ${days >= 1 ? `${days} days` : `${days * 24} hours`}`;
  return { kind: 'failed', reason, furtherAttemptUseful: false, abandoned: true };
}

/** True when the source has called back; false when it has not within the time. */
async function callbackWithin(
  step: SourceStepInput,
  progress: QueryProgress,
  waitMs: number,
): Promise<boolean> {
  const { source, attempt } = step;
  const called = await condition(() => progress.hasCallback(source, attempt), Math.max(waitMs, 1), {
    summary: `${source}: wait for its callback, else ask`,
  });
  progress.takeCallback(source, attempt);
  return called;
}

/** Written even when the query is being cancelled. */
async function recordFailure(
  step: SourceStepInput,
  failure: { reason: string; abandoned: boolean; retryAfterMs?: number },
): Promise<void> {
  await CancellationScope.nonCancellable(() =>
    recordActivities(`${step.source}, attempt ${step.attempt} failed`).recordFailedAttempt({
      ...step,
      ...failure,
    }),
  );
}

function toOutcome(error: unknown, whyCancelled: () => string): AttemptOutcome {
  if (isCancellation(error)) {
    return { kind: 'failed', reason: whyCancelled(), furtherAttemptUseful: false, abandoned: true };
  }
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const { type } = cause;
    const furtherAttemptUseful =
      type === SOURCE_FAILURE_TYPES.badAnswer || type === SOURCE_FAILURE_TYPES.jobFailed;
    // Any other failure is our own; its text is for the log, not for callers.
    const isOfSource = Object.values<string | null | undefined>(SOURCE_FAILURE_TYPES).includes(type);
    const reason = isOfSource ? cause.message : 'The exchange could not take in the answer';
    return { kind: 'failed', reason, furtherAttemptUseful, abandoned: !isOfSource };
  }
  if (cause instanceof TimeoutFailure) {
    return {
      kind: 'failed',
      reason: 'The source was not done in time',
      furtherAttemptUseful: false,
      abandoned: true,
    };
  }
  // A bug: fail the workflow task, so that a corrected worker goes on from here.
  throw error;
}
