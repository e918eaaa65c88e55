import type { Client } from '@temporalio/client';
import {
  DEFAULT_SWEEP_PACE,
  QUERY_SWEEP_DETAILS,
  type QuerySweepInput,
} from '../../../contract/bulk-create-workflow.ts';
import { PRIORITY, querySweepWorkflowId, WORKFLOW_TYPES } from '../../../contract/temporal.ts';
import type { Store } from '../../platform/database/database.ts';
import { healEach, type Recovery } from '../../platform/recovery/recovery.ts';
import { startOnce, wasEndedByHand } from '../../platform/workflows/start-workflow.ts';
import {
  markSweepSeen,
  openSweep,
  recentlyUnswept,
  type SweepToEnsure,
  setSweepState,
  sweepsToCheck,
  unsweptInSlice,
} from './sweep-store.ts';

/**
 * Starts the workflow of a bulk create's post-import queries. A workflow that was terminated is started again under the same
 * id and continues from the outcomes in PostgreSQL. Safe to call when it runs or has nothing left to do.
 *
 * @param replacesRunning starts a stuck workflow anew
 */
export async function launchSweep(
  deps: { store: Store; temporal: Client },
  accountId: string,
  requestId: string,
  replacesRunning = false,
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
    replacesRunning,
    isOpen: async () => true,
  });
  await deps.store.asAccount(accountId, (tx) => markSweepSeen(tx, requestId));
}

/** Older bulk creates examined per round. */
const SLICE = 500;
const AT_ONCE = 4;

/** Starts the workflow of post-import queries where it was never started, or no longer runs. */
export const sweepRecovery = (deps: { store: Store; temporal: Client }): Recovery => ({
  name: 'query sweeps',
  async takeUp({ limit, signal, cursor, lookAgainBefore }) {
    const after = new Date(cursor ?? 0);
    const { recent, older, open } = await deps.store.asSystem(async (tx) => ({
      recent: await recentlyUnswept(tx, limit),
      older: await unsweptInSlice(tx, { after, slice: SLICE }),
      open: await sweepsToCheck(tx, { lookAgainBefore, limit }),
    }));
    const launch = async ({ accountId, requestId }: SweepToEnsure) => {
      // An operator who cancels or terminates it in Temporal has decided.
      if (!(await wasEndedByHand(deps.temporal, querySweepWorkflowId(requestId))))
        return launchSweep(deps, accountId, requestId);
      await deps.store.asAccount(accountId, async (tx) => {
        await openSweep(tx, requestId);
        await setSweepState(tx, requestId, 'cancelled');
      });
    };
    const started = await healEach([...recent, ...older.unswept], {
      signal,
      atOnce: AT_ONCE,
      heal: (sweep) => launch(sweep).then(() => true),
    });
    const checked = await healEach(open, {
      signal,
      atOnce: AT_ONCE,
      heal: (sweep) => launch(sweep).then(() => false),
    });
    return {
      ...started,
      found: started.found + checked.found,
      failures: [...started.failures, ...checked.failures],
      isBehind: recent.length === limit && started.healed > 0,
      cursor: older.next?.toISOString(),
    };
  },
});
