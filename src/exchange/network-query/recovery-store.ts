import type { SourceType } from '../../contract/primitives.ts';
import type { AccountTx, SystemTx } from '../platform/database/database.ts';

export interface OpenRun {
  accountId: string;
  requestId: string;
  run: number;
  isStarted: boolean;
  since: Date;
}

/**
 * Open runs of all accounts whose workflow was not started within `olderThanMs`, oldest first; then those whose workflow was
 * last seen before `lookAgainBefore` and should be checked, longest unseen first.
 */
export async function runsToEnsure(
  tx: SystemTx,
  options: { olderThanMs: number; lookAgainBefore: Date; limit: number },
): Promise<OpenRun[]> {
  const now = Date.now();
  const rows = await tx.db
    .selectFrom('network_query_run')
    .select(['account_id', 'query_id', 'run', 'requested_at', 'workflow_started_at'])
    .where('ended_at', 'is', null)
    .where(({ and, eb, or }) =>
      or([
        and([
          eb('workflow_started_at', 'is', null),
          eb('requested_at', '<', new Date(now - options.olderThanMs)),
        ]),
        eb('workflow_started_at', '<', options.lookAgainBefore),
      ]),
    )
    .orderBy('workflow_started_at', (order) => order.asc().nullsFirst())
    .orderBy('requested_at')
    .limit(options.limit)
    .execute();
  return rows.map((row) => ({
    accountId: row.account_id,
    requestId: row.query_id,
    run: row.run,
    isStarted: row.workflow_started_at !== null,
    since: row.requested_at,
  }));
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
