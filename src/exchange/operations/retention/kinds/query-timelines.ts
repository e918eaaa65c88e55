import { sql } from 'kysely';
import type { RetentionKind } from '../retention-kind.ts';
import { countDue, isHeld } from './due-items.ts';

/** Entries about gaps stay, because the completeness of the record is read from them. */
const ended = (before: Date) => sql`
  not t.is_gap and t.at < ${before} and q.status <> 'running' and q.ended_at < ${before}`;
const ENTRIES = sql`network_query_timeline t join network_query q on q.id = t.query_id`;

export const queryTimelines: RetentionKind = {
  name: 'query-timelines',
  description:
    'timeline entries of network queries, since the query ended; what is missing in the record stays said',
  count: (tx, before) =>
    countDue(tx, sql`select t.at, ${isHeld('q.patient_id')} as held from ${ENTRIES} where ${ended(before)}`),
  async remove(tx, before, limit) {
    const { rows } = await sql<{ accountId: string }>`
      delete from network_query_timeline where id in (
        select t.id from ${ENTRIES} where ${ended(before)} and not ${isHeld('q.patient_id')}
        order by t.at limit ${limit} for update of t skip locked)
      returning account_id as "accountId"`.execute(tx.db);
    return rows;
  },
};
