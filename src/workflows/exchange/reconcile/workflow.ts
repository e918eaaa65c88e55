import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities, Reconciled } from '../../../activities/exchange/reconcile.ts';

const { reconcileLeftOvers } = proxyActivities<ReconcileActivities>({
  startToCloseTimeout: '2 minutes',
  // The schedule starts the next round soon; a failed round should be visible as failed.
  retry: { maximumAttempts: 2 },
  summary: 'Complete work that a crash left unfinished',
});

/**
 * Completes work that was committed but then interrupted, for example accepted queries without a workflow and events
 * without a delivery. Started by a Temporal Schedule and keyed by its time; every step may run twice.
 */
export async function reconcile(): Promise<Reconciled> {
  return reconcileLeftOvers();
}
