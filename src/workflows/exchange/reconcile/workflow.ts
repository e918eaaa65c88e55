import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities, Reconciled } from '../../../activities/exchange/reconcile.ts';

const { reconcileLeftOvers } = proxyActivities<ReconcileActivities>({
  startToCloseTimeout: '2 minutes',
  // The schedule comes round again; a failed round is shown as such.
  retry: { maximumAttempts: 2 },
  summary: 'Start what is accepted but not under way',
});

/**
 * Finds work that was committed but that nobody carries on: accepted queries without a workflow, events without a
 * delivery. Run by a Temporal schedule; keyed by its time; every step may run twice.
 */
export async function reconcile(): Promise<Reconciled> {
  return reconcileLeftOvers();
}
