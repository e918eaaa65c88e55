import { sql } from 'kysely';
import type { SystemTx } from '../../platform/database/database.ts';
import { LISTED_MAX, type SenderReport } from './report.ts';

const WEEK_MS = 7 * 86_400_000;

/** The smallest UUID of version 7 of a time: ids of messages are in the order of their arrival, so no further index is needed. */
const firstIdSince = (ms: number): string =>
  `${ms
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`;

/** The senders of the last week's messages. */
export async function readSenders(tx: SystemTx, now = Date.now()): Promise<SenderReport[]> {
  const { rows } = await sql<SenderReport>`
    with recent as (
      select sender, is_number_reused, received_at, unused from inbound_message
      where id >= ${firstIdSince(now - WEEK_MS)}::uuid),
    places as (
      select sender, place, count(*)::int as messages,
        row_number() over (partition by sender order by count(*) desc, place) as nth
      from recent cross join lateral unnest(unused) as place group by 1, 2)
    select r.sender, count(*)::int as messages, count(*) filter (where r.is_number_reused)::int as "numbersReused",
      greatest(extract(epoch from now() - max(r.received_at)), 0)::float8 as "silentSeconds",
      coalesce((select jsonb_agg(jsonb_build_object('place', p.place, 'messages', p.messages) order by p.nth)
        from places p where p.sender = r.sender and p.nth <= ${LISTED_MAX}), '[]') as unused
    from recent r group by r.sender order by r.sender limit ${LISTED_MAX}`.execute(tx.db);
  return rows;
}
