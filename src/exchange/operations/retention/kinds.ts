import { type RawBuilder, sql } from 'kysely';
import type { SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import type { DueCount, RetentionKind } from './sweep.ts';

const REMOVE_RETIRED = sqlFile('remove-retired.sql', import.meta.url);

/** @param items a query with the columns `at` and `held` */
async function countDue(tx: SystemTx, items: RawBuilder<unknown>): Promise<DueCount> {
  const { rows } = await sql<DueCount>`
    select count(*) filter (where not held)::int as due, count(*) filter (where held)::int as held,
      min(at) filter (where not held) as oldest
    from (${items}) as item`.execute(tx.db);
  return rows[0] ?? { due: 0, held: 0, oldest: null };
}

/** Whether the patient of a row is under legal hold. @param patientId an SQL expression */
const isHeld = (patientId: string): RawBuilder<boolean> =>
  sql`exists (select from legal_hold hold where hold.patient_id = ${sql.ref(patientId)})`;

/** The row of a DocumentReference stays, because it says that its stored document was withdrawn. */
const retiredBefore = (before: Date) =>
  sql`r.retired_at < ${before} and r.resource_type <> 'DocumentReference'`;

const retiredResources: RetentionKind = {
  name: 'retired-resources',
  description: 'resources that their source deleted or moved to another person, since they left the record',
  count: (tx, before) =>
    countDue(
      tx,
      sql`select r.retired_at as at, ${isHeld('r.patient_id')} as held from retired_resource r where ${retiredBefore(before)}`,
    ),
  async remove(tx, before, limit) {
    const { rows } = await REMOVE_RETIRED<{ accountId: string }>({
      retiredBefore: retiredBefore(before),
      isHeld: isHeld('r.patient_id'),
      limit,
    }).execute(tx.db);
    return rows;
  },
};

/**
 * Subjects (encounters, fills, results) all of whose messages are old and match no patient. One that fits several patients of an
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

/** Selects subjects by the index of unmatched messages. */
const candidates = (before: Date) => sql`
  s.id in (
    select e.subject_id from inbound_message m join inbound_event e on e.message_id = m.id
    where m.outcome in ('unmatched', 'ambiguous', 'incomplete') and m.received_at < ${before})
  and ${forgettable(before)}`;

const unmatchedMessages: RetentionKind = {
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

const endedRequests = (before: Date) => sql`
  r.result is not null and r.status not in ('waiting', 'processing') and r.ended_at < ${before}`;
/** A result has rows of many patients; a hold on one of them keeps the whole file. */
const RESULT_HELD = sql<boolean>`exists (
  select from bulk_patient p join legal_hold hold on hold.patient_id = p.patient_id where p.request_id = r.id)`;

const bulkResults: RetentionKind = {
  name: 'bulk-results',
  description: 'result files of bulk creates, since the request ended; its numbers stay',
  count: (tx, before) =>
    countDue(
      tx,
      sql`select r.ended_at as at, ${RESULT_HELD} as held from bulk_request r where ${endedRequests(before)}`,
    ),
  async remove(tx, before, limit) {
    const { rows } = await sql<{ accountId: string }>`
      with due as (
        select r.id, r.account_id, r.result->>'ref' as ref from bulk_request r
        where ${endedRequests(before)} and not ${RESULT_HELD} order by r.ended_at limit ${limit} for update skip locked
      ), erased as (
        insert into erasure (kind, ref, account_id) select 'blob', ref, account_id from due on conflict do nothing
      )
      update bulk_request r set result = null from due where r.id = due.id
      returning r.account_id as "accountId"`.execute(tx.db);
    return rows;
  },
};

/** Entries about gaps stay, because the completeness of the record is read from them. */
const ofEndedQueries = (before: Date) => sql`
  not t.is_gap and t.at < ${before} and q.status <> 'running' and q.ended_at < ${before}`;
const TIMELINE_ENTRIES = sql`network_query_timeline t join network_query q on q.id = t.query_id`;

const queryTimelines: RetentionKind = {
  name: 'query-timelines',
  description:
    'timeline entries of network queries, since the query ended; what is missing in the record stays said',
  count: (tx, before) =>
    countDue(
      tx,
      sql`select t.at, ${isHeld('q.patient_id')} as held from ${TIMELINE_ENTRIES} where ${ofEndedQueries(before)}`,
    ),
  async remove(tx, before, limit) {
    const { rows } = await sql<{ accountId: string }>`
      delete from network_query_timeline where id in (
        select t.id from ${TIMELINE_ENTRIES} where ${ofEndedQueries(before)} and not ${isHeld('q.patient_id')}
        order by t.at limit ${limit} for update of t skip locked)
      returning account_id as "accountId"`.execute(tx.db);
    return rows;
  },
};

/** Messages that have ended for every destination, and whose query has ended too. A copy goes with its message. */
const settledEvents = (before: Date) => sql`
  e.copy_of is null and e.status in ('delivered', 'dead', 'unrouted') and e.opened_at < ${before}
  and coalesce(e.last_attempt_at, e.opened_at) < ${before}
  and not exists (
    select from event copy where copy.copy_of = e.id and (
      copy.status not in ('delivered', 'dead', 'unrouted')
      or greatest(copy.opened_at, copy.last_attempt_at) >= ${before}))
  and not exists (select from network_query q where q.id = e.request_id and q.status = 'running')`;

const webhookEvents: RetentionKind = {
  name: 'webhook-events',
  description:
    'webhook messages with their attempts, since they were delivered, dead-lettered or found no destination',
  count: (tx, before) =>
    countDue(
      tx,
      sql`select e.opened_at as at, ${isHeld('e.patient_id')} as held from event e where ${settledEvents(before)}`,
    ),
  async remove(tx, before, limit) {
    const { rows } = await sql<{ accountId: string }>`
      delete from event where id in (
        select e.id from event e where ${settledEvents(before)} and not ${isHeld('e.patient_id')}
        order by e.opened_at limit ${limit} for update skip locked)
      returning account_id as "accountId"`.execute(tx.db);
    return rows;
  },
};

/** What a retention rule can be set for. The audit is none of it: its chain cannot lose entries. */
export const RETENTION_KINDS: readonly RetentionKind[] = [
  webhookEvents,
  queryTimelines,
  bulkResults,
  unmatchedMessages,
  retiredResources,
];
