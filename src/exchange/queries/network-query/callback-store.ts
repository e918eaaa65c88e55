import type { SourceType } from '../../../contract/primitives.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { addToTimeline } from './timeline-store.ts';

/** An attempt that a source's callback names by its token. */
export interface CalledAttempt {
  accountId: string;
  requestId: string;
  run: number;
  source: SourceType;
  attempt: number;
  status: 'running' | 'completed' | 'failed';
}

/** The attempt, of any account, whose callback token has this hash. */
export async function findAttemptByCallback(tx: SystemTx, hash: Buffer): Promise<CalledAttempt | undefined> {
  const row = await tx.db
    .selectFrom('network_query_attempt')
    .select(['account_id', 'query_id', 'run', 'source', 'attempt', 'status'])
    .where('callback_hash', '=', hash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { run, source, attempt, status } = row;
  return { accountId: row.account_id, requestId: row.query_id, run, source, attempt, status };
}

/** Records a callback on its attempt and in the timeline; a repeated callback changes nothing. */
export async function recordCallback(
  tx: AccountTx,
  { requestId, source, attempt }: CalledAttempt,
): Promise<void> {
  const onceKey = `callback/${source}/${attempt}`;
  await addToTimeline(tx, requestId, {
    source,
    attempt,
    kind: 'callback',
    message: `The ${source} source reports that its answer is ready; it is collected next`,
    onceKey,
  });
  await tx.db
    .updateTable('network_query_attempt')
    .set({ callback_at: new Date() })
    .where('query_id', '=', requestId)
    .where('source', '=', source)
    .where('attempt', '=', attempt)
    .where('callback_at', 'is', null)
    .execute();
}
