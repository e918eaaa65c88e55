import type { Reconciled, ReconcilePosition } from '../../contract/reconcile-workflow.ts';
import type { Reconciler } from '../../exchange/platform/recovery/reconciler.ts';
import { withHeartbeat } from './heartbeat.ts';

export type ReconcileActivities = ReturnType<typeof createReconcileActivities>;

const HEARTBEAT_EVERY_MS = 5_000;

export const createReconcileActivities = ({ reconciler }: { reconciler: Reconciler }) => ({
  /** Makes one round. May run twice, also in parallel. `last`: the result of the last round. */
  reconcileLeftOvers: (last?: ReconcilePosition): Promise<Reconciled> =>
    withHeartbeat({ everyMs: HEARTBEAT_EVERY_MS }, (signal) => reconciler.round(last, signal)),
});
