import {
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
} from '../../../contract/network-query-workflow.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { SourceFailure } from '../../sources/connectors/connector.ts';
import { type AttemptWork, insertNextAttempt, newestAttempt, readAttempt } from './attempt-store.ts';
import { type CallingSources, callSource, type WorkOnSource } from './call-source.ts';
import { callbackHash, callbackToken } from './callback-token.ts';
import { CANCEL_TIMEOUT_MS } from './cancel-jobs.ts';
import { consentWithdrawn } from './consent-check.ts';
import { recordFailedCall, recordHold } from './failed-calls.ts';
import { cancelParts, openParts, workOnParts } from './parts.ts';
import { lockQuery, settleQuery } from './query-store.ts';
import { AFTER_FAILURE } from './rules/retries.ts';
import { AttemptSuperseded, QueryGone, StepFailed } from './step-errors.ts';
import { addToTimeline } from './timeline-store.ts';

/**
 * One step of an attempt: opens it and works on its parts, or on the one connection of the environment variables, from where
 * PostgreSQL says it is; so a step may run twice. Failed calls are counted in the attempt's row, so that failures on our side,
 * which Temporal counts as well, never use them up; they are recorded in the query's timeline. After a few of them the step
 * returns, and the workflow waits before it calls the source again.
 *
 * @param work asks the source (`askSource`), or polls it (`pollSource`)
 * @throws StepFailed, AttemptSuperseded, QueryGone, MergeFailed, StoredByAnotherBuild
 */
export async function takeStep(
  deps: CallingSources,
  step: SourceStepInput,
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<SourceStep> {
  const { store } = deps;
  const { opened, withdrawn } = await store.asAccount(step.accountId, async (tx) => {
    const attempt = await openAttempt(tx, step, deps.callbackKey);
    return { opened: attempt, withdrawn: await consentWithdrawn(tx, step, attempt) };
  });
  if (opened.status !== 'running') return ended(opened);
  if (withdrawn !== undefined) {
    await cancelJobs(deps, step, opened);
    return afterFailedCall(deps, step, new SourceFailure('refused', withdrawn));
  }
  const parts = await openParts(deps, step, opened).catch((error: unknown) => {
    if (error instanceof SourceFailure) return error;
    throw error;
  });
  if (parts instanceof SourceFailure) return afterFailedCall(deps, step, parts);
  if (parts.length > 0) return workOnParts(deps, step, opened, parts, work, signal);
  const connector = deps.connectors[step.source];
  const called = await callSource(deps, { step, work: opened, connector, signal }, work);
  switch (called.kind) {
    case 'done':
      return called.result;
    case 'held':
      return hold(deps, step, called);
    case 'failed':
      return afterFailedCall(deps, step, called.failure);
  }
}

/** The result for an attempt that was already ended, by another execution of this step or by giving up the source. */
function ended({ status, willRetry, resources, reason }: AttemptWork): SourceStep {
  // The workflow is older than this row, after a restore: it has yet to wait for the next attempt.
  if (status === 'failed' && willRetry)
    throw new StepFailed(SOURCE_FAILURE_TYPES.jobFailed, reason ?? 'The attempt failed');
  if (status === 'failed')
    throw new StepFailed(SOURCE_FAILURE_TYPES.superseded, reason ?? 'The attempt has ended');
  return { state: 'completed', resources, note: reason ?? undefined };
}

/** Asks the source to stop what it is working on; it is only a courtesy. */
async function cancelJobs(deps: CallingSources, step: SourceStepInput, work: AttemptWork): Promise<void> {
  await cancelParts(deps, step, work);
  if (work.job !== null)
    await deps.connectors[step.source]
      .cancel(work.job, AbortSignal.timeout(CANCEL_TIMEOUT_MS))
      .catch(deps.noteUncancelled);
}

/** Returns the wait for a source that no query may call now. */
async function hold(
  { store }: CallingSources,
  step: SourceStepInput,
  wait: { reason: string; waitMs: number },
): Promise<SourceStep> {
  const nextTryAt = await store.asAccount(step.accountId, (tx) => recordHold(tx, step, wait));
  if (nextTryAt === undefined) throw new AttemptSuperseded('The attempt was ended while it waited');
  const held = { reason: wait.reason, nextTryAt: nextTryAt.toISOString() };
  return { state: 'waiting', retryAfterMs: wait.waitMs, held };
}

/** Records a failed call. Returns the wait for the source, or throws the failure that the workflow expects. */
async function afterFailedCall(
  { store }: CallingSources,
  step: SourceStepInput,
  failure: SourceFailure,
): Promise<SourceStep> {
  const next = await store.asAccount(step.accountId, (tx) => recordFailedCall(tx, step, failure));
  const { kind, message } = failure;
  if (next?.nextTryAt === undefined) throw new StepFailed(AFTER_FAILURE[kind].type, message, next?.waitMs);
  const held = { reason: message, nextTryAt: next.nextTryAt.toISOString() };
  return { state: 'waiting', retryAfterMs: next.waitMs, held };
}

/**
 * Reads the attempt that a step works on. The first step of a further attempt inserts it. Records in the timeline, once,
 * that the source is asked. Throws QueryGone when the patient was deleted.
 */
async function openAttempt(tx: AccountTx, step: SourceStepInput, callbackKey: string): Promise<AttemptWork> {
  const { source, attempt } = step;
  let work = await readAttempt(tx, step);
  if (work === undefined) {
    if ((await lockQuery(tx, step.requestId)) === undefined) throw new QueryGone();
    const token = callbackToken(callbackKey, step.requestId, source, attempt);
    await insertNextAttempt(tx, step, callbackHash(token));
    await settleQuery(tx, step.requestId);
    work = await readAttempt(tx, step);
  }
  if (work === undefined) throw new QueryGone();
  if (work.status === 'running' && work.job === null && work.cursor === null) {
    const onceKey = `asked/${source}/${attempt}`;
    await addToTimeline(tx, step.requestId, {
      source,
      attempt,
      kind: 'asked',
      message: `Asking the ${source} source`,
      onceKey,
    });
  }
  return work;
}

/**
 * Opens the attempt that follows the newest one, so that readers see it at once, and returns its number. A running one was opened
 * by an earlier execution of this step.
 */
export async function openNextAttempt(
  tx: AccountTx,
  of: SourceStepInput,
  callbackKey: string,
): Promise<{ attempt: number }> {
  const newest = await newestAttempt(tx, of.requestId, of.source);
  const attempt = newest?.status === 'running' ? newest.attempt : (newest?.attempt ?? 0) + 1;
  await openAttempt(tx, { ...of, attempt }, callbackKey);
  return { attempt };
}
