import { sql } from 'kysely';
import {
  RECONCILE_PARTS,
  type ReconcilePart,
  type RestoreSuspicion,
} from '../../../contract/reconcile-workflow.ts';
import type { Store, SystemTx } from '../database/database.ts';

/** Work whose workflow was seen within this time is not looked at again. */
const RECHECK_AFTER_MS = 15 * 60_000;

export interface BegunRound {
  /** Open work that was last seen before this time is to be looked at again. */
  recheckBefore: Date;
  /** When the last suspicion of a restore arose. */
  restoredAt?: Date;
  /** Set when it arises now. */
  suspicion?: RestoreSuspicion;
}

export type RoundCount = ReturnType<typeof createRoundCount>;

/**
 * Counts the rounds in PostgreSQL, and compares this with what the workflow has
 * counted. Knows the pauses.
 */
export const createRoundCount = (store: Pick<Store, 'asSystem'>) => ({
  isPaused: async (part: ReconcilePart) =>
    (await store.asSystem(readPauses)).some((paused) => paused.part === part),
  begin: (counted: number) => store.asSystem((tx) => beginRound(tx, counted)),
  /** Returns the number that the workflow must know. */
  end: (counted: number) => store.asSystem((tx) => endRound(tx, counted)),
});

/**
 * Compares the rounds that the workflow has counted with those that PostgreSQL
 * has. If they differ, one of the two was restored from a backup, and from now
 * on all open work counts as not seen.
 *
 * A difference of one is no sign: the worker may have been killed before the
 * workflow learned of the round.
 */
async function beginRound(
  tx: SystemTx,
  countedByWorkflow: number,
): Promise<BegunRound> {
  const state = await tx.db
    .selectFrom('reconcile_state')
    .select('rounds')
    .executeTakeFirst();
  const counted = state?.rounds ?? 0;
  const suspicion =
    counted < countedByWorkflow
      ? 'postgresql-is-older'
      : counted > countedByWorkflow + 1
        ? 'temporal-is-older'
        : undefined;
  if (suspicion !== undefined)
    await sql`insert into reconcile_state (rounds, restored_at) values (${countedByWorkflow}, now())
      on conflict (only_row) do update set restored_at = now()`.execute(tx.db);
  const { rows } = await sql<{ now: Date; restoredAt: Date | null }>`
    select now(), (select restored_at from reconcile_state) as "restoredAt"`.execute(
    tx.db,
  );
  const { now = new Date(), restoredAt = null } = rows[0] ?? {};
  const recheckBefore = new Date(
    Math.max(now.getTime() - RECHECK_AFTER_MS, restoredAt?.getTime() ?? 0),
  );
  return { recheckBefore, restoredAt: restoredAt ?? undefined, suspicion };
}

async function endRound(
  tx: SystemTx,
  countedByWorkflow: number,
): Promise<number> {
  const { rows } = await sql<{ rounds: number }>`
    insert into reconcile_state (rounds) values (${countedByWorkflow + 1})
    on conflict (only_row) do update set rounds = greatest(reconcile_state.rounds, ${countedByWorkflow}::bigint) + 1
    returning rounds`.execute(tx.db);
  return rows[0]?.rounds ?? countedByWorkflow + 1;
}

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

/**
 * Pauses parts; of those that are paused already, who paused them first and why
 * stays.
 */
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
