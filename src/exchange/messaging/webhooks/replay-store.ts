import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { routeCopies } from '../../platform/outbox/event-store.ts';

const REOPEN_MESSAGES = sqlFile('reopen-messages.sql', import.meta.url);

/** SQL condition: the destination has a URL and is not disabled. */
const TAKES_EVENTS = sql`d.url is not null and d.health <> 'disabled'`;

/**
 * Reopens events that were dead-lettered, or had no destination when they
 * occurred. Returns all open events, oldest first.
 */
export async function reopenUndelivered(tx: AccountTx): Promise<string[]> {
  await releaseHolds(tx);
  await sql`
    update event set status = 'pending', attempts = 0, destination_id = d.id, opened_at = now()
    from webhook_destination d
    where d.account_id = event.account_id and ${TAKES_EVENTS} and event.status in ('dead', 'unrouted')
      and (d.id = event.destination_id or d.of_settings and event.destination_id is null)
  `.execute(tx.db);
  await tx.db
    .updateTable('event')
    .set({ next_attempt_at: null })
    .where('status', '=', 'pending')
    .where('next_attempt_at', 'is not', null)
    .execute();
  return openEvents(tx);
}

/**
 * Ends the hold of destinations, so that they get events at once and not one as
 * a probe. Call it before events are changed: destinations are locked before
 * events everywhere.
 */
async function releaseHolds(
  tx: AccountTx,
  destinationId?: string,
): Promise<void> {
  await tx.db
    .updateTable('webhook_destination')
    .set({
      failures: 0,
      failed_event: null,
      held_since: null,
      held_until: null,
    })
    .where('held_until', 'is not', null)
    .$if(destinationId !== undefined, (query) =>
      query.where('id', '=', destinationId ?? ''),
    )
    .execute();
}

/**
 * Messages that occurred in a period, oldest first. Returns at most `max` + 1,
 * so that the caller notices an excess.
 */
export async function messagesBetween(
  tx: AccountTx,
  from: Date,
  to: Date,
  max: number,
): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('event')
    .select('id')
    .where('copy_of', 'is', null)
    .where('type', 'not like', 'subscription.%')
    .where('account_id', '=', tx.accountId)
    .where('occurred_at', '>=', from)
    .where('occurred_at', '<=', to)
    .orderBy('seq')
    .limit(max + 1)
    .execute();
  return rows.map(({ id }) => id);
}

/** Returns the id if it is the id of a message, else undefined. */
export async function findEventOfMessage(
  tx: AccountTx,
  id: string,
): Promise<string | undefined> {
  const query = tx.db
    .selectFrom('event')
    .select('id')
    .where('id', '=', id)
    .where('copy_of', 'is', null);
  return (await query.executeTakeFirst())?.id;
}

/**
 * Reopens messages, delivered or not, for every destination whose current
 * filter matches, or for one destination. Events being sent at the moment are
 * left as they are. Returns the ids of the open events, in order.
 */
export async function reopenMessages(
  tx: AccountTx,
  messageIds: readonly string[],
  destinationId?: string,
): Promise<string[]> {
  await releaseHolds(tx, destinationId);
  await routeCopies(tx, messageIds);
  const ids = [...messageIds];
  const { rows } = await REOPEN_MESSAGES<{ id: string; seq: string }>({
    takesEvents: TAKES_EVENTS,
    ids,
    destinationId: destinationId ?? null,
  }).execute(tx.db);
  return rows
    .sort((left, right) => Number(left.seq) - Number(right.seq))
    .map(({ id }) => id);
}

/**
 * Number of pending and dead-lettered events of a destination; without one, of
 * all destinations of the account.
 */
export async function countUndelivered(
  tx: AccountTx,
  destinationId?: string,
): Promise<{ pending: number; deadLettered: number }> {
  return tx.db
    .selectFrom('event')
    .select([
      sql<number>`count(*) filter (where status in ('pending', 'delivering'))`.as(
        'pending',
      ),
      sql<number>`count(*) filter (where status = 'dead')`.as('deadLettered'),
    ])
    .where(
      'destination_id',
      destinationId === undefined ? 'is not' : '=',
      destinationId ?? null,
    )
    .executeTakeFirstOrThrow();
}

async function openEvents(tx: AccountTx): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('event')
    .select('id')
    .where('status', '=', 'pending')
    .orderBy('seq')
    .execute();
  return rows.map(({ id }) => id);
}
