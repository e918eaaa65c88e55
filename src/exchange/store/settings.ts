import { type Selectable, sql } from 'kysely';
import type { AccountTx } from './database.ts';
import type { Database } from './schema.ts';

/** Where the account's webhooks go. */
export interface StoredDestination {
  id: string;
  url: string | null;
  /** `whsec_` and base64; kept when the address changes. */
  key: string | null;
  health: Selectable<Database['webhook_destination']>['health'];
  healthAt: Date | null;
}

export async function findDestination(tx: AccountTx): Promise<StoredDestination | undefined> {
  const row = await tx.db.selectFrom('webhook_destination').selectAll().executeTakeFirst();
  return row && toDestination(row);
}

/**
 * Sets or clears the address; what is known of the old one's health does not count for a new one. The account's
 * first destination takes the given id and key, a later call keeps those that are there.
 */
export async function setDestination(
  tx: AccountTx,
  destination: { id: string; url: string | null; key: string },
): Promise<StoredDestination> {
  const row = await tx.db
    .insertInto('webhook_destination')
    .values({ ...destination, account_id: tx.accountId })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({
        url: destination.url,
        key: sql<string>`coalesce(webhook_destination.key, excluded.key)`,
        health: 'unknown',
        health_at: null,
        updated_at: sql<Date>`now()`,
      }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
  return toDestination(row);
}

/** Notes how the destination answered a ping; nothing when the address has changed meanwhile. */
export async function setHealth(
  tx: AccountTx,
  destination: { id: string; url: string },
  health: 'healthy' | 'failing',
): Promise<void> {
  await tx.db
    .updateTable('webhook_destination')
    .set({ health, health_at: new Date() })
    .where('id', '=', destination.id)
    .where('url', '=', destination.url)
    .execute();
}

/** Events still on their way, and those given up. */
export async function countUndelivered(tx: AccountTx): Promise<{ pending: number; deadLettered: number }> {
  return tx.db
    .selectFrom('event')
    .select([
      sql<number>`count(*) filter (where status in ('pending', 'delivering'))`.as('pending'),
      sql<number>`count(*) filter (where status = 'dead')`.as('deadLettered'),
    ])
    .executeTakeFirstOrThrow();
}

function toDestination(row: Selectable<Database['webhook_destination']>): StoredDestination {
  const { id, url, key, health, health_at: healthAt } = row;
  return { id, url, key, health, healthAt };
}
