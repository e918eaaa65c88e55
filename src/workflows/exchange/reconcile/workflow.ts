import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities } from '../../../activities/exchange/reconcile.ts';
import type { Reconciled } from '../../../contract/reconcile-workflow.ts';

const { reconcileLeftOvers } = proxyActivities<ReconcileActivities>({
  startToCloseTimeout: '2 minutes',
  retry: { maximumAttempts: 2 },
  summary: 'Complete work that a crash left unfinished',
});

/**
 * One round of reconcile, as the Temporal Schedule of earlier versions started it. Replaced by `reconcileLoop`; kept so that
 * executions that are open during a deployment can end.
 */
export async function reconcile(): Promise<Reconciled> {
  return reconcileLeftOvers();
}
