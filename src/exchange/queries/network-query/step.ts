import {
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
} from '../../../contract/network-query-workflow.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { SourceFailure } from '../../sources/connectors/connector.ts';
import {
  type AttemptWork,
  callbackHash,
  callbackToken,
  insertNextAttempt,
  newestAttempt,
  readOpened,
} from './attempt-store.ts';
import {
  afterFailedCall,
  type CallingSources,
  cancelParts,
  type WorkOnSource,
  wholeStep,
  workOnParts,
} from './parts.ts';
import { lockQuery, settleQuery } from './query-store.ts';
import { excludedByConsent } from './rules/query-status.ts';
import { QueryGone, StepFailed } from './step-errors.ts';

/**
 * One step of an attempt: opens it and works on its parts from where PostgreSQL
 * says they are; so a step may run twice. Failed calls are counted in the
 * attempt's row, so that failures on our side, which Temporal counts as well,
 * never use them up; they are recorded in the query's timeline. After a few of
 * them the step returns, and the workflow waits before it calls the source
 * again.
 *
 * @param work asks the source (`askSource`), or polls it (`pollSource`)
 * @throws StepFailed, AttemptSuperseded, QueryGone, MergeFailed,
 *   StoredByAnotherBuild
 */
export async function takeStep(
  deps: CallingSources,
  step: SourceStepInput,
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<SourceStep> {
  const { store } = deps;
  const opened = await openAttempt(store, step, deps.callbackKey);
  if (opened.status !== 'running') return ended(opened);
  // Consent was withdrawn since the query began.
  if (!opened.isDenied || opened.isCollected)
    return workOnParts(deps, step, opened, work, signal);
  await cancelParts(deps, step, opened);
  const withdrawn = `${excludedByConsent(step.source)}; nothing more is collected for this query`;
  return afterFailedCall(
    deps,
    wholeStep(step),
    new SourceFailure('refused', withdrawn),
  );
}

/**
 * The result for an attempt that was already ended, by another execution of
 * this step or by giving up the source.
 */
function ended({
  status,
  willRetry,
  resources,
  reason,
}: AttemptWork): SourceStep {
  // The workflow is older than this row, after a restore: it has yet to wait
  // for the next attempt.
  if (status === 'failed' && willRetry)
    throw new StepFailed(
      SOURCE_FAILURE_TYPES.jobFailed,
      reason ?? 'The attempt failed',
    );
  if (status === 'failed')
    throw new StepFailed(
      SOURCE_FAILURE_TYPES.superseded,
      reason ?? 'The attempt has ended',
    );
  return { state: 'completed', resources, note: reason ?? undefined };
}

/**
 * Reads the attempt that a step works on. The first step of a further attempt
 * inserts it. Throws QueryGone when the patient was deleted.
 */
async function openAttempt(
  store: Pick<Store, 'asAccount' | 'callAsAccount'>,
  step: SourceStepInput,
  callbackKey: string,
): Promise<AttemptWork> {
  const known = await readOpened(store, step);
  if (known !== undefined) return known;

  await store.asAccount(step.accountId, (tx) =>
    insertAttempt(tx, step, callbackKey),
  );
  const inserted = await readOpened(store, step);
  if (inserted === undefined) throw new QueryGone();
  return inserted;
}

async function insertAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  callbackKey: string,
): Promise<void> {
  const { requestId, source, attempt } = step;
  if ((await lockQuery(tx, requestId)) === undefined) throw new QueryGone();
  const token = callbackToken(callbackKey, requestId, source, attempt);
  await insertNextAttempt(tx, step, callbackHash(token));
  await settleQuery(tx, requestId);
}

/**
 * Opens the attempt that follows the newest one, so that readers see it at
 * once, and returns its number. A running one was opened by an earlier
 * execution of this step.
 */
export async function openNextAttempt(
  store: Pick<Store, 'asAccount' | 'callAsAccount'>,
  of: SourceStepInput,
  callbackKey: string,
): Promise<{ attempt: number }> {
  const newest = await store.asAccount(of.accountId, (tx) =>
    newestAttempt(tx, of.requestId, of.source),
  );
  const attempt =
    newest?.status === 'running' ? newest.attempt : (newest?.attempt ?? 0) + 1;
  await openAttempt(store, { ...of, attempt }, callbackKey);
  return { attempt };
}
