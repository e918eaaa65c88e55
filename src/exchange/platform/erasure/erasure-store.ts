import { sql } from 'kysely';
import type { AccountTx, SystemTx } from '../database/database.ts';

/** A blob to erase or a workflow to stop, because its rows have been deleted. */
export interface Erasure {
  kind: 'blob' | 'workflow';
  /** Reference of the blob, or id of the workflow. */
  ref: string;
}

export async function recordWorkflowsToStop(tx: AccountTx, workflowIds: readonly string[]): Promise<void> {
  if (workflowIds.length === 0) return;
  await tx.db
    .insertInto('erasure')
    .values(workflowIds.map((ref) => ({ kind: 'workflow' as const, ref, account_id: tx.accountId })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Pending erasures of all accounts, oldest first. */
export async function pendingErasures(tx: SystemTx, limit: number): Promise<(Erasure & { since: Date })[]> {
  return tx.db
    .selectFrom('erasure')
    .select(['kind', 'ref', 'noted_at as since'])
    .orderBy('noted_at')
    .orderBy('ref')
    .limit(limit)
    .execute();
}

export async function deleteErasures(tx: SystemTx, done: readonly Erasure[]): Promise<void> {
  if (done.length === 0) return;
  await sql`
    delete from erasure using unnest(${done.map(({ kind }) => kind)}::text[], ${done.map(({ ref }) => ref)}::text[]) as done (kind, ref)
    where erasure.kind = done.kind and erasure.ref = done.ref
  `.execute(tx.db);
}

/** Moves a failed erasure to the end of the queue. */
export async function postponeErasure(tx: SystemTx, { kind, ref }: Erasure): Promise<void> {
  await tx.db
    .updateTable('erasure')
    .set({ noted_at: new Date() })
    .where('kind', '=', kind)
    .where('ref', '=', ref)
    .execute();
}
