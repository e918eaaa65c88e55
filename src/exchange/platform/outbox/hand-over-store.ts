import type { AccountTx, SystemTx } from '../database/database.ts';

/** A workflow has been asked to bring the event out. */
export async function markHandedOver(tx: AccountTx, eventId: string): Promise<void> {
  await tx.db.updateTable('event').set({ handed_over_at: new Date() }).where('id', '=', eventId).execute();
}

/** How long a hand-over is trusted before it is made again; making it again is harmless. */
const HAND_OVER_AGAIN_MS = 15 * 60_000;

/** Open events that no webhook dispatcher has brought out in time and that no workflow has in hand; over all accounts. */
export async function overdueEvents(
  tx: SystemTx,
  options: { olderThanMs: number; limit: number },
): Promise<{ accountId: string; eventId: string; attempts: number }[]> {
  const now = Date.now();
  const rows = await tx.db
    .selectFrom('event')
    .innerJoin('webhook_destination as d', 'd.id', 'event.destination_id')
    .select(['event.account_id', 'event.id', 'event.attempts'])
    .where('event.status', 'in', ['pending', 'delivering'])
    // While the address is taken away, what is open waits for the next one.
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
  return rows.map((row) => ({ accountId: row.account_id, eventId: row.id, attempts: row.attempts }));
}
