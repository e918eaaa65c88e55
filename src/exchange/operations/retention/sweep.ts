import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import {
  type Store,
  type SystemTx,
  withinAccount,
} from '../../platform/database/database.ts';
import type { Recovery } from '../../platform/recovery/recovery.ts';
import { recordSlice, takeRule } from './rule-store.ts';

const DAY_MS = 24 * 60 * 60_000;
/**
 * Slices of one kind in one round of reconcile, so that a large backlog does
 * not delay other work.
 */
const SLICES_PER_ROUND = 10;

/**
 * The time before which items must have ended, to be removed by a rule of
 * `days` days.
 */
export const removedBefore = (days: number): Date =>
  new Date(Date.now() - days * DAY_MS);

/**
 * Applies the rule of a kind once a day, in slices. Each slice is one
 * transaction with its audit entries, so a sweep that is killed goes on where
 * it was. Runs in the workflow `reconcileLoop`, which also counts what was
 * removed.
 */
export const retentionSweep = (
  store: Pick<Store, 'asSystem'>,
  kind: RetentionKind,
): Recovery => ({
  name: `retention of ${kind.name}`,
  deletes: true,
  async takeUp({ limit, signal }) {
    let found = 0;
    for (let slice = 0; slice < SLICES_PER_ROUND && !signal.aborted; slice++) {
      const removed = await removeSlice(store, kind, { limit, isAsked: false });
      found += removed;
      if (removed < limit) return { found, healed: found, failures: [] };
    }
    return { found, healed: found, failures: [], isBehind: found > 0 };
  },
});

/**
 * Removes one slice and audits it. Returns the number of items; less than
 * `limit`: nothing is left to remove.
 */
export const removeSlice = async (
  store: Pick<Store, 'asSystem'>,
  kind: RetentionKind,
  { limit, isAsked }: { limit: number; isAsked: boolean },
): Promise<number> =>
  store.asSystem(async (tx) => {
    const rule = await takeRule(tx, kind.name, { isAsked });
    if (rule === undefined) return 0;
    const items = await kind.remove(tx, removedBefore(rule.days), limit);
    await auditRemoval(tx, kind, rule.days, items);
    await recordSlice(tx, kind.name, {
      removed: items.length,
      isLast: items.length < limit,
    });
    return items.length;
  });

async function auditRemoval(
  tx: SystemTx,
  kind: RetentionKind,
  days: number,
  items: Awaited<ReturnType<RetentionKind['remove']>>,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { accountId } of items)
    if (accountId !== null)
      counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  for (const [accountId, removed] of counts)
    await withinAccount(tx, accountId, (own) =>
      insertAuditEntry(own, {
        actor: 'retention',
        operation: 'removeByAge',
        outcome: 'done',
        details: JSON.stringify({ kind: kind.name, days, removed }),
      }),
    );
}

/** Data of one kind that a rule may remove by age. */
export interface RetentionKind {
  /** In commands, audit and metrics, such as `webhook-events`. */
  name: string;
  /** What is removed, and by which age, for operators. */
  description: string;
  /**
   * Counts what a sweep would remove now, and what is old enough but kept by
   * legal holds.
   */
  count(tx: SystemTx, before: Date): Promise<DueCount>;
  /**
   * Removes at most `limit` items that ended before a time, oldest first; less
   * than `limit` means that nothing is left. Blobs are recorded in `erasure` in
   * the same transaction and go after the commit.
   */
  remove(tx: SystemTx, before: Date, limit: number): Promise<RemovedItem[]>;
}

export interface DueCount {
  due: number;
  held: number;
  /** Time of the oldest item that is due. */
  oldest: Date | null;
}

/**
 * An item without an account is about a person who is no patient of any
 * account.
 */
interface RemovedItem {
  accountId: string | null;
}
