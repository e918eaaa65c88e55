import type { Client } from '@temporalio/client';
import { QUERY_SWEEP_STORY, type QuerySweepInput } from '../../contract/bulk-create-workflow.ts';
import { PRIORITY, querySweepWorkflowId, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import { startOnce } from '../platform/workflows/start-workflow.ts';
import { markSweepSeen, sweepsToEnsure } from './sweep-store.ts';

/**
 * Starts the workflow of a completed bulk create's sweep, also when an earlier one of the same id was ended from
 * outside: the marks in PostgreSQL let it go on. Harmless when it runs, or has nothing left to do.
 */
export async function launchSweep(
  deps: { store: Store; temporal: Client },
  accountId: string,
  requestId: string,
): Promise<void> {
  const input: QuerySweepInput = { accountId, requestId };
  await startOnce(deps.temporal, {
    type: WORKFLOW_TYPES.querySweep,
    id: querySweepWorkflowId(requestId),
    input,
    accountId,
    requestId,
    priority: PRIORITY.bulk,
    summary: 'Queries for the patients of a bulk create',
    details: QUERY_SWEEP_STORY,
    againAfterItsEnd: true,
  });
  await deps.store.asAccount(accountId, (tx) => markSweepSeen(tx, requestId));
}

/** Completed bulk creates whose sweep nobody started, or whose sweep's workflow is gone. */
export const sweepRecovery = (deps: { store: Store; temporal: Client }): Recovery => ({
  name: 'query sweeps',
  async takeUp(limit) {
    const left = await deps.store.asSystem((tx) => sweepsToEnsure(tx, limit));
    const launched = await Promise.allSettled(
      left.map(({ accountId, requestId }) => launchSweep(deps, accountId, requestId)),
    );
    const failed = launched.find((launch) => launch.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return left.length;
  },
});
