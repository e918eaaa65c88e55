import { type Selectable, sql } from 'kysely';
import { type Members, membersOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';

/** A webhook destination of an account. */
export type StoredDestination = Members<'webhook_destination'>;

/**
 * What a destination's row holds about its health until an event has been sent
 * to its address.
 */
export const UNKNOWN_HEALTH = {
  health: 'unknown',
  health_at: null,
  failures: 0,
  failed_event: null,
  held_since: null,
  held_until: null,
} as const;

/**
 * Further destinations: neither that of the settings, nor FHIR Subscriptions.
 */
const FURTHER = { of_settings: false, is_subscription: false };

/** The further destinations, without the one of the settings, oldest first. */
export async function listDestinations(
  tx: AccountTx,
): Promise<StoredDestination[]> {
  const rows = await tx.db
    .selectFrom('webhook_destination')
    .selectAll()
    .where(({ and }) => and(FURTHER))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(toDestination);
}

/**
 * Finds a destination of the account, including the one of the settings; not a
 * FHIR Subscription.
 */
export async function findDestinationById(
  tx: AccountTx,
  id: string,
): Promise<StoredDestination | undefined> {
  const query = tx.db
    .selectFrom('webhook_destination')
    .selectAll()
    .where(({ and }) => and({ id, is_subscription: false }));
  const row = await query.executeTakeFirst();
  return row && toDestination(row);
}

export async function insertDestination(
  tx: AccountTx,
  destination: {
    id: string;
    url: string;
    types: readonly string[];
    key: string;
  },
): Promise<StoredDestination> {
  const row = await tx.db
    .insertInto('webhook_destination')
    .values({
      ...destination,
      types: [...destination.types],
      account_id: tx.accountId,
      of_settings: false,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toDestination(row);
}

/**
 * Changes a further destination. Setting `url`, even to the same value, resets
 * its health. Undefined if it does not exist.
 */
export async function changeDestination(
  tx: AccountTx,
  id: string,
  change: { url?: string; types?: readonly string[] },
): Promise<StoredDestination | undefined> {
  const row = await tx.db
    .updateTable('webhook_destination')
    .set({
      updated_at: sql<Date>`now()`,
      ...(change.types && { types: [...change.types] }),
      ...(change.url && { url: change.url, ...UNKNOWN_HEALTH }),
    })
    .where(({ and }) => and({ id, ...FURTHER }))
    .returningAll()
    .executeTakeFirst();
  return row && toDestination(row);
}

/**
 * Deletes a further destination and its undelivered events. False if it does
 * not exist.
 */
export async function deleteDestination(
  tx: AccountTx,
  id: string,
): Promise<boolean> {
  const result = await tx.db
    .deleteFrom('webhook_destination')
    .where(({ and }) => and({ id, ...FURTHER }))
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
}

/**
 * Replaces the key; the current one becomes the previous key, valid until
 * `previousUntil`.
 */
export async function rotateKey(
  tx: AccountTx,
  id: string,
  next: { key: string; previousUntil: Date },
): Promise<StoredDestination> {
  const row = await tx.db
    .updateTable('webhook_destination')
    .set({
      previous_key: sql<string>`key`,
      previous_key_until: next.previousUntil,
      key: next.key,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toDestination(row);
}

/** Records the result of a ping, unless the URL has changed since. */
export async function setHealth(
  tx: AccountTx,
  destination: { id: string; url: string },
  health: 'healthy' | 'failing',
): Promise<void> {
  await tx.db
    .updateTable('webhook_destination')
    .set({ health, health_at: sql<Date>`now()` })
    .where(({ and }) => and({ id: destination.id, url: destination.url }))
    .execute();
}

export function toDestination(
  row: Selectable<Database['webhook_destination']>,
): StoredDestination {
  return {
    ...membersOf(row),
    previousKeyUntil: row.previous_key === null ? null : row.previous_key_until,
  };
}
