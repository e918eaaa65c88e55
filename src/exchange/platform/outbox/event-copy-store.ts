import { type RawBuilder, sql } from 'kysely';
import { TEST_EVENT_TYPE } from '../../../contract/webhook-test.ts';
import type { AccountTx } from '../database/database.ts';

/*
 * A row of `event` is a message to one destination (docs/decisions/0040-a-row-for-each-destination.md). For each further
 * destination the message is copied.
 */

/** Initial status of a row for destination `d`, which may be missing. */
export const STATUS_AT_FIRST = sql`case when d.url is null or d.health = 'disabled' then 'unrouted' else 'pending' end`;

/**
 * Inserts copies of messages for all further destinations whose filters match, unless they exist. Test events are not copied.
 *
 * @param messages rows of `event` that are not copies themselves
 */
export function copiesOf(messages: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into event (id, account_id, patient_id, destination_id, copy_of, type, fact_key, request_id, occurred_at, status)
    select gen_random_uuid(), m.account_id, m.patient_id, d.id, m.id, m.type, m.fact_key, m.request_id, m.occurred_at, ${STATUS_AT_FIRST}
    from ${messages} as m join webhook_destination d on d.account_id = m.account_id
    where not d.of_settings and m.type <> ${TEST_EVENT_TYPE} and exists (
      select from unnest(d.types) as wanted (type)
      where m.type = wanted.type or (wanted.type like '%*' and starts_with(m.type, rtrim(wanted.type, '*'))))
    on conflict (copy_of, destination_id) where copy_of is not null do nothing`;
}

/** Inserts the missing copies of messages, by the current filters of the destinations. */
export async function routeCopies(tx: AccountTx, messageIds: readonly string[]): Promise<void> {
  const messages = sql`(select * from event where id = any(${[...messageIds]}::uuid[]) and copy_of is null)`;
  await copiesOf(messages).execute(tx.db);
}

/** Rows of the outbox for one destination, in sending order. */
export interface Route {
  destinationId: string;
  eventIds: string[];
}

/**
 * The rows to send by destination: `ids` themselves, or with `areWhole` also the copies of these messages. Rows without a
 * destination, or of one that is held, are left out.
 */
export async function routesOf(
  tx: AccountTx,
  ids: readonly string[],
  { areWhole }: { areWhole: boolean },
): Promise<Route[]> {
  const rows = sql`${[...ids]}::uuid[]`;
  const { rows: found } = await sql<{ id: string; destination_id: string }>`
    select e.id, e.destination_id from event as e join webhook_destination as d on d.id = e.destination_id
    where (e.id = any(${rows}) ${areWhole ? sql`or e.copy_of = any(${rows})` : sql``}) and d.held_until is null
    order by array_position(${rows}, ${areWhole ? sql`coalesce(e.copy_of, e.id)` : sql`e.id`})
  `.execute(tx.db);
  const routes = new Map<string, string[]>();
  for (const { id, destination_id: destinationId } of found) {
    const eventIds = routes.get(destinationId);
    if (eventIds === undefined) routes.set(destinationId, [id]);
    else eventIds.push(id);
  }
  return [...routes].map(([destinationId, eventIds]) => ({ destinationId, eventIds }));
}
