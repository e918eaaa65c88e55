import {
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
} from '../../../contract/network-query-workflow.ts';
import { deniedSources } from '../../people/consents/consent-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { SourceFailure } from '../../sources/connectors/connector.ts';
import {
  type AttemptWork,
  callbackHash,
  callbackToken,
  insertNextAttempt,
  newestAttempt,
  purposeOf,
  readAttempt,
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
import { addOfStep } from './timeline-store.ts';

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
  const { opened, withdrawn } = await store.asAccount(
    step.accountId,
    async (tx) => {
      const attempt = await openAttempt(tx, step, deps.callbackKey);
      return {
        opened: attempt,
        withdrawn: await consentWithdrawn(tx, step, attempt),
      };
    },
  );
  if (opened.status !== 'running') return ended(opened);
  if (withdrawn === undefined)
    return workOnParts(deps, step, opened, work, signal);
  await cancelParts(deps, step, opened);
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
 * inserts it. Records in the timeline, once, that the source is asked. Throws
 * QueryGone when the patient was deleted.
 */
async function openAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  callbackKey: string,
): Promise<AttemptWork> {
  const { source, attempt } = step;
  let work = await readAttempt(tx, step);
  if (work === undefined) {
    if ((await lockQuery(tx, step.requestId)) === undefined)
      throw new QueryGone();
    const token = callbackToken(callbackKey, step.requestId, source, attempt);
    await insertNextAttempt(tx, step, callbackHash(token));
    await settleQuery(tx, step.requestId);
    work = await readAttempt(tx, step);
  }
  if (work === undefined) throw new QueryGone();
  if (work.status === 'running' && work.job === null && work.cursor === null) {
    const onceKey = `asked/${source}/${attempt}`;
    await addOfStep(tx, step, {
      kind: 'asked',
      message: `Asking the ${source} source`,
      onceKey,
    });
  }
  return work;
}

/**
 * Opens the attempt that follows the newest one, so that readers see it at
 * once, and returns its number. A running one was opened by an earlier
 * execution of this step.
 */
export async function openNextAttempt(
  tx: AccountTx,
  of: SourceStepInput,
  callbackKey: string,
): Promise<{ attempt: number }> {
  const newest = await newestAttempt(tx, of.requestId, of.source);
  const attempt =
    newest?.status === 'running' ? newest.attempt : (newest?.attempt ?? 0) + 1;
  await openAttempt(tx, { ...of, attempt }, callbackKey);
  return { attempt };
}

/**
 * Why an attempt that is under way must not go on: the patient has opted out,
 * or a consent excludes the source, since the query began. Undefined when it
 * may go on, and when everything is collected already.
 */
async function consentWithdrawn(
  tx: AccountTx,
  { source }: SourceStepInput,
  work: AttemptWork,
): Promise<string | undefined> {
  if (work.isCollected) return undefined;
  const denied = await deniedSources(tx, work.patientId, purposeOf(work), [
    source,
  ]);
  if (!denied.has(source)) return undefined;
  return `${excludedByConsent(source)}; nothing more is collected for this query`;
}
