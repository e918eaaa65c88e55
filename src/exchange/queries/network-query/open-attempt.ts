import type { SourceStepInput } from '../../../contract/network-query-steps.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { type AttemptWork, insertNextAttempt, newestAttempt, readAttempt } from './attempt-store.ts';
import { callbackHash, callbackToken } from './callback-token.ts';
import { lockQuery, settleQuery } from './query-store.ts';
import { QueryGone } from './step-errors.ts';
import { addToTimeline } from './timeline-store.ts';

/**
 * Reads the attempt that a step works on. The first step of a further attempt inserts it. Records in the timeline, once,
 * that the source is asked. Throws QueryGone when the patient was deleted.
 */
export async function openAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  callbackKey: string,
): Promise<AttemptWork> {
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
