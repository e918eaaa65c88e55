import { sql } from 'kysely';
import type { SourceType } from '../../../contract/primitives.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';

/** Runs, as rows with a workflow. */
export const runRows = workflowRows<{ requestId: string; run: number }>({
  table: 'network_query_run',
  ids: { requestId: 'query_id', run: 'run' },
  since: 'requested_at',
  open: sql`ended_at is null`,
});
export const runsToEnsure = runRows.toEnsure;

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
