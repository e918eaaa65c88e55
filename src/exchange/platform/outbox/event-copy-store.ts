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

/** The rows of messages and their copies, grouped by destination and in sending order. */
export async function routesOf(tx: AccountTx, messageIds: readonly string[]): Promise<string[][]> {
  const ids = [...messageIds];
  const { rows } = await sql<{ id: string; destination_id: string | null }>`
    select id, destination_id from event where id = any(${ids}::uuid[]) or copy_of = any(${ids}::uuid[])
    order by copy_of is not null, array_position(${ids}::uuid[], coalesce(copy_of, id))
  `.execute(tx.db);
  const lists = new Map<string, string[]>();
  for (const row of rows) {
    const key = row.destination_id ?? '';
    const list = lists.get(key) ?? [];
    lists.set(key, [...list, row.id]);
  }
  return [...lists.values()];
}
