import { RECONCILE_PARTS, type ReconcilePart } from '../../../contract/reconcile-workflow.ts';
import type { SystemTx } from '../database/database.ts';

export interface ReconcilePause {
  part: ReconcilePart;
  since: Date;
  by: string;
  reason: string;
}

/** The paused parts of reconcile. */
export const readPauses = (tx: SystemTx): Promise<ReconcilePause[]> =>
  tx.db
    .selectFrom('reconcile_pause')
    .select(['part', 'paused_at as since', 'paused_by as by', 'reason'])
    .orderBy('part')
    .execute();

/** Pauses parts; of those that are paused already, who paused them first and why stays. */
export async function pauseReconcile(
  tx: SystemTx,
  parts: readonly ReconcilePart[],
  { by, reason }: { by: string; reason: string },
): Promise<void> {
  await tx.db
    .insertInto('reconcile_pause')
    .values(parts.map((part) => ({ part, paused_by: by, reason })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Returns false when none of the parts was paused. */
export async function resumeReconcile(
  tx: SystemTx,
  parts: readonly ReconcilePart[] = RECONCILE_PARTS,
): Promise<boolean> {
  const resumed = await tx.db
    .deleteFrom('reconcile_pause')
    .where('part', 'in', parts)
    .returning('part')
    .execute();
  return resumed.length > 0;
}
