import { sql } from 'kysely';
import type { RetentionKind } from '../retention-kind.ts';
import { countDue } from './due-items.ts';

/**
 * Subjects (encounters, fills, results) all of whose messages are old and fit nobody. One that fits several patients of an
 * account stays: it may be about a patient under legal hold. So does one whose message is about further subjects.
 */
const forgettable = (before: Date) => sql`
  s.updated_at < ${before}
  and exists (select from inbound_event e where e.subject_id = s.id)
  and not exists (select from notification n where n.subject_id = s.id)
  and not exists (select from recorded_subject r where r.subject_id = s.id)
  and not exists (
    select from inbound_event e join inbound_message m on m.id = e.message_id
    where e.subject_id = s.id and (
      m.outcome not in ('unmatched', 'incomplete') or m.received_at >= ${before}
      or exists (select from inbound_event other where other.message_id = m.id and other.subject_id <> s.id)))`;

/** The same by the index of unmatched messages. */
const candidates = (before: Date) => sql`
  s.id in (
    select e.subject_id from inbound_message m join inbound_event e on e.message_id = m.id
    where m.outcome in ('unmatched', 'ambiguous', 'incomplete') and m.received_at < ${before})
  and ${forgettable(before)}`;

export const unmatchedMessages: RetentionKind = {
  name: 'unmatched-messages',
  description:
    'notifications by encounter, fill or result about people who are no patients, since the last one came',
  count: (tx, before) =>
    countDue(
      tx,
      sql`select s.updated_at as at, false as held from inbound_subject s where ${candidates(before)}`,
    ),
  async remove(tx, before, limit) {
    // The lock makes a new message about the subject wait. What came before the lock is seen by the next statement only.
    const { rows } = await sql<{ id: string }>`
      select s.id from inbound_subject s where ${candidates(before)}
      order by s.updated_at limit ${limit} for update skip locked`.execute(tx.db);
    const ids = rows.map(({ id }) => id);
    await sql`
      with gone as (
        delete from inbound_message m using inbound_event e
        where e.message_id = m.id and e.subject_id in (
          select s.id from inbound_subject s where s.id = any(${ids}::uuid[]) and ${forgettable(before)})
        returning m.content->>'ref' as ref
      )
      insert into erasure (kind, ref) select 'blob', ref from gone on conflict do nothing`.execute(tx.db);
    const { rows: forgotten } = await sql`
      delete from inbound_subject s where s.id = any(${ids}::uuid[])
        and not exists (select from inbound_event e where e.subject_id = s.id)
      returning s.id`.execute(tx.db);
    return forgotten.map(() => ({ accountId: null }));
  },
};
