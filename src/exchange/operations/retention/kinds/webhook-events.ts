import { sql } from 'kysely';
import type { RetentionKind } from '../retention-kind.ts';
import { countDue, isHeld } from './due-items.ts';

/** Messages that have ended for every destination, and whose query has ended too. A copy goes with its message. */
const ended = (before: Date) => sql`
  e.copy_of is null and e.status in ('delivered', 'dead', 'unrouted') and e.opened_at < ${before}
  and coalesce(e.last_attempt_at, e.opened_at) < ${before}
  and not exists (
    select from event copy where copy.copy_of = e.id and (
      copy.status not in ('delivered', 'dead', 'unrouted')
      or greatest(copy.opened_at, copy.last_attempt_at) >= ${before}))
  and not exists (select from network_query q where q.id = e.request_id and q.status = 'running')`;

export const webhookEvents: RetentionKind = {
  name: 'webhook-events',
  description:
    'webhook messages with their attempts, since they were delivered, dead-lettered or found no destination',
  count: (tx, before) =>
    countDue(
      tx,
      sql`select e.opened_at as at, ${isHeld('e.patient_id')} as held from event e where ${ended(before)}`,
    ),
  async remove(tx, before, limit) {
    const { rows } = await sql<{ accountId: string }>`
      delete from event where id in (
        select e.id from event e where ${ended(before)} and not ${isHeld('e.patient_id')}
        order by e.opened_at limit ${limit} for update skip locked)
      returning account_id as "accountId"`.execute(tx.db);
    return rows;
  },
};
