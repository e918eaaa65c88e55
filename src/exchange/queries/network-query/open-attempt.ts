import type { SourceStepInput } from '../../../contract/network-query-steps.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { type AttemptWork, insertNextAttempt, readAttempt } from './attempt-store.ts';
import { lockQuery, settleQuery } from './query-store.ts';
import { addToTimeline } from './timeline-store.ts';

/** The query was deleted together with its patient; the step has nothing left to do. */
export class QueryGone extends Error {
  override readonly name = 'QueryGone';

  constructor() {
    super('The patient was deleted');
  }
}

/**
 * Reads the attempt that a step works on. The first step of a further attempt inserts it. Records in the timeline, once,
 * that the source is asked. Throws QueryGone when the patient was deleted.
 */
export async function openAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  callbackHash: Buffer,
): Promise<AttemptWork> {
  const { source, attempt } = step;
  let work = await readAttempt(tx, step);
  if (work === undefined) {
    if ((await lockQuery(tx, step.requestId)) === undefined) throw new QueryGone();
    await insertNextAttempt(tx, step, callbackHash);
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
