import {
  RECONCILE_PARTS,
  type Reconciled,
  type ReconcilePosition,
} from '../../contract/reconcile-workflow.ts';
import type { Store } from '../../exchange/platform/database/database.ts';
import {
  pauseReconcile,
  resumeReconcile,
} from '../../exchange/platform/recovery/reconcile-state-store.ts';
import type { Reconciler } from '../../exchange/platform/recovery/reconciler.ts';
import { withHeartbeat } from './heartbeat.ts';

export type ReconcileActivities = ReturnType<typeof createReconcileActivities>;

const BY_SIGNAL = {
  by: 'an operator',
  reason: 'the signal `pause` of the workflow `reconcile`',
};
const HEARTBEAT_EVERY_MS = 5_000;

export const createReconcileActivities = ({
  reconciler,
  store,
}: {
  reconciler: Reconciler;
  store: Pick<Store, 'asSystem'>;
}) => ({
  /** Pauses or resumes all parts, as an operator ordered by a signal. */
  setReconcilePaused: (isPaused: boolean): Promise<void> =>
    store.asSystem(async (tx) => {
      if (isPaused) await pauseReconcile(tx, RECONCILE_PARTS, BY_SIGNAL);
      else await resumeReconcile(tx);
    }),

  /**
   * Makes one round. May run twice, also in parallel. `last`: the result of the
   * last round.
   */
  reconcileLeftOvers: (last?: ReconcilePosition): Promise<Reconciled> =>
    withHeartbeat({ everyMs: HEARTBEAT_EVERY_MS }, (signal) =>
      reconciler.round(last, signal),
    ),
});
