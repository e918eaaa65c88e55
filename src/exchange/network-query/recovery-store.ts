import type { SourceType } from '../../contract/primitives.ts';
import type { AccountTx, SystemTx } from '../platform/database/database.ts';

/** A workflow that was started this long ago is checked again. */
const LOOK_AGAIN_MS = 15 * 60_000;

/**
 * Open runs of all accounts whose workflow was not started within `olderThanMs`, or was last seen over 15 minutes ago and
 * should be checked. Oldest first.
 */
export async function runsToEnsure(
  tx: SystemTx,
  options: { olderThanMs: number; limit: number },
): Promise<{ accountId: string; requestId: string; run: number }[]> {
  const now = Date.now();
  const rows = await tx.db
    .selectFrom('network_query_run')
    .select(['account_id', 'query_id', 'run'])
    .where('ended_at', 'is', null)
    .where(({ and, eb, or }) =>
      or([
        and([
          eb('workflow_started_at', 'is', null),
          eb('requested_at', '<', new Date(now - options.olderThanMs)),
        ]),
        eb('workflow_started_at', '<', new Date(now - LOOK_AGAIN_MS)),
      ]),
    )
    .orderBy('requested_at')
    .limit(options.limit)
    .execute();
  return rows.map((row) => ({ accountId: row.account_id, requestId: row.query_id, run: row.run }));
}

/** Attempts of a run that are running or waiting for a retry. */
export async function openAttemptsOfRun(
  tx: AccountTx,
  requestId: string,
  run: number,
): Promise<{ source: SourceType; attempt: number }[]> {
  return tx.db
    .selectFrom('network_query_attempt')
    .select(['source', 'attempt'])
    .where('query_id', '=', requestId)
    .where('run', '=', run)
    .where(({ eb, or }) => or([eb('status', '=', 'running'), eb('will_retry', '=', true)]))
    .execute();
}
