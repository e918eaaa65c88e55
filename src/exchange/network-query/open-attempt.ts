import type { SourceStepInput } from '../../contract/source-steps.ts';
import { type AttemptWork, insertNextAttempt, readAttempt } from '../store/attempts.ts';
import type { AccountTx } from '../store/database.ts';
import { lockQuery, settleQuery } from '../store/network-queries.ts';
import { tell } from '../store/timeline.ts';

/** Reads where an attempt stands; the first step of a further attempt writes it. */
export async function openAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  callbackHash: Buffer,
): Promise<AttemptWork> {
  const { source, attempt } = step;
  let work = await readAttempt(tx, step);
  if (work === undefined) {
    await lockQuery(tx, step.requestId);
    await insertNextAttempt(tx, step, callbackHash);
    await settleQuery(tx, step.requestId);
    work = await readAttempt(tx, step);
  }
  if (work === undefined) throw new Error('The query of this attempt is gone');
  if (work.status === 'running' && work.job === null && work.cursor === null) {
    const onceKey = `asked/${source}/${attempt}`;
    await tell(tx, step.requestId, {
      source,
      attempt,
      kind: 'asked',
      message: `Asking the ${source} source`,
      onceKey,
    });
  }
  return work;
}
