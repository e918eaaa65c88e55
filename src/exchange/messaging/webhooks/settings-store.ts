import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type StoredDestination,
  toDestination,
  UNKNOWN_HEALTH,
} from './destination-store.ts';

/** The destination of the account's settings, which gets all events. */
export async function findDestination(
  tx: AccountTx,
): Promise<StoredDestination | undefined> {
  const query = tx.db
    .selectFrom('webhook_destination')
    .selectAll()
    .where('of_settings', '=', true);
  const row = await query.executeTakeFirst();
  return row && toDestination(row);
}

/**
 * Sets or clears the URL of the destination, and resets its health. The first
 * call of an account stores the given id and key; later calls keep the existing
 * ones.
 */
export async function setDestination(
  tx: AccountTx,
  destination: { id: string; url: string | null; key: string },
): Promise<StoredDestination> {
  const row = await tx.db
    .insertInto('webhook_destination')
    .values({ ...destination, account_id: tx.accountId })
    .onConflict((conflict) =>
      conflict
        .column('account_id')
        .where(sql<boolean>`of_settings`)
        .doUpdateSet({
          url: destination.url,
          key: sql<string>`coalesce(webhook_destination.key, excluded.key)`,
          ...UNKNOWN_HEALTH,
          updated_at: sql<Date>`now()`,
        }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
  return toDestination(row);
}
