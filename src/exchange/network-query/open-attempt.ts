import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { type AttemptWork, insertNextAttempt, readAttempt } from './attempt-store.ts';
import { lockQuery, settleQuery } from './query-store.ts';
import { addToTimeline } from './timeline-store.ts';

/** The query is gone, with its patient: nothing is left to do. */
export class QueryGone extends Error {
  override readonly name = 'QueryGone';

  constructor() {
    super('The patient was deleted');
  }
}

/** Reads where an attempt stands; the first step of a further attempt writes it. Throws QueryGone. */
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
