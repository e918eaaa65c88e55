import type { Client } from '@temporalio/client';
import {
  DEFAULT_SWEEP_PACE,
  QUERY_SWEEP_DETAILS,
  type QuerySweepInput,
} from '../../contract/bulk-create-workflow.ts';
import { PRIORITY, querySweepWorkflowId, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import { startOnce } from '../platform/workflows/start-workflow.ts';
import { markSweepSeen, sweepsToEnsure } from './sweep-store.ts';

/**
 * Starts the workflow of a bulk create's post-import queries. A workflow that was terminated is started again under the same
 * id and continues from the outcomes in PostgreSQL. Safe to call when it runs or has nothing left to do.
 */
export async function launchSweep(
  deps: { store: Store; temporal: Client },
  accountId: string,
  requestId: string,
): Promise<void> {
  const input: QuerySweepInput = { accountId, requestId, pace: DEFAULT_SWEEP_PACE };
  await startOnce(deps.temporal, {
    type: WORKFLOW_TYPES.querySweep,
    id: querySweepWorkflowId(requestId),
    input,
    accountId,
    requestId,
    priority: PRIORITY.bulk,
    summary: 'Queries for the patients of a bulk create',
    details: QUERY_SWEEP_DETAILS,
    againAfterItsEnd: true,
  });
  await deps.store.asAccount(accountId, (tx) => markSweepSeen(tx, requestId));
}

/** Starts the workflow of post-import queries where it was never started, or no longer runs. */
export const sweepRecovery = (deps: { store: Store; temporal: Client }): Recovery => ({
  name: 'query sweeps',
  async takeUp(limit) {
    const unfinished = await deps.store.asSystem((tx) => sweepsToEnsure(tx, limit));
    const launched = await Promise.allSettled(
      unfinished.map(({ accountId, requestId }) => launchSweep(deps, accountId, requestId)),
    );
    const failed = launched.find((launch) => launch.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return unfinished.length;
  },
});
