import type { AccountTx, SystemTx } from '../database/database.ts';

/** Records that a workflow was started to deliver the event. */
export async function markHandedOver(tx: AccountTx, eventId: string): Promise<void> {
  await tx.db.updateTable('event').set({ handed_over_at: new Date() }).where('id', '=', eventId).execute();
}

/** Time after which an event is handed over again; that is harmless. */
const HAND_OVER_AGAIN_MS = 15 * 60_000;

/** Open events of all accounts that no webhook dispatcher has delivered in time and that no workflow is delivering. */
export async function overdueEvents(
  tx: SystemTx,
  options: { olderThanMs: number; limit: number },
): Promise<{ accountId: string; eventId: string; attempts: number; since: Date }[]> {
  const now = Date.now();
  const rows = await tx.db
    .selectFrom('event')
    .innerJoin('webhook_destination as d', 'd.id', 'event.destination_id')
    .select(['event.account_id', 'event.id', 'event.attempts', 'event.occurred_at'])
    .where('event.status', 'in', ['pending', 'delivering'])
    // Without a URL, open events wait until one is set.
    .where('d.url', 'is not', null)
    .where(({ eb, fn }) =>
      eb(fn.coalesce('last_attempt_at', 'occurred_at'), '<', new Date(now - options.olderThanMs)),
    )
    .where(({ eb, or }) =>
      or([eb('handed_over_at', 'is', null), eb('handed_over_at', '<', new Date(now - HAND_OVER_AGAIN_MS))]),
    )
    .orderBy('seq')
    .limit(options.limit)
    .execute();
  return rows.map((row) => ({
    accountId: row.account_id,
    eventId: row.id,
    attempts: row.attempts,
    since: row.occurred_at,
  }));
}
