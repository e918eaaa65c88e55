import { sql } from 'kysely';
import { CANCEL_REASONS } from '../../../contract/network-query-workflow.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import { readPauses } from '../../platform/recovery/reconcile-state-store.ts';
import { readRefusals } from '../../platform/workflows/refusal-store.ts';
import { reportSources } from '../../sources/health/report.ts';
import {
  DESTINATION_STATES,
  type DestinationReport,
  type DestinationState,
  type FailedQueries,
  LISTED_MAX,
  type OpenWork,
  type OperationsReport,
  type SenderReport,
  type SourceOutcome,
  type UndeliverableEvents,
  WEBHOOK_LATE_SECONDS,
  type WorkKind,
} from './report.ts';

/** Reads the state of the whole system, all accounts, for operators (`admin ops`) and metrics. */
export const readOperationsReport = (store: Pick<Store, 'asSystem'>): Promise<OperationsReport> =>
  store.asSystem(async (tx) => ({
    work: await readOpenWork(tx),
    sources: await reportSources(tx),
    outcomes: await readOutcomes(tx),
    destinations: byState(await countDestinations(tx)),
    troubledDestinations: await readTroubledDestinations(tx, WEBHOOK_LATE_SECONDS),
    undeliverable: await readUndeliverable(tx),
    failed: await readFailed(tx),
    pauses: await readPauses(tx),
    refusals: await readRefusals(tx),
    senders: await readSenders(tx),
    ...(await countOthers(tx)),
  }));

function byState(
  counted: readonly { state: DestinationState; destinations: number }[],
): Record<DestinationState, number> {
  const counts = new Map(counted.map(({ state, destinations }) => [state, destinations]));
  return Object.fromEntries(DESTINATION_STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<
    DestinationState,
    number
  >;
}

/** SQL: a destination is held whatever its health. */
const STATE = sql`case when d.held_since is not null then 'held' else d.health end`;
/** Retention keeps events for longer, but what was not repaired within a week is no news. */
const UNDELIVERABLE_FOR = sql`interval '7 days'`;

/** How the queries of the last hour stand at each source. Goes through the accounts, because queries are indexed by account. */
async function readOutcomes(tx: SystemTx): Promise<SourceOutcome[]> {
  const { rows } = await sql<SourceOutcome>`
    select t.source, case when t.will_retry then 'running' else t.status end as outcome, count(*)::int as queries
    from account a
    cross join lateral (
      select id from network_query q where q.account_id = a.id and q.started_at > now() - interval '1 hour') as q
    cross join lateral (
      select distinct on (source) source, status, will_retry from network_query_attempt t
      where t.query_id = q.id order by source, attempt desc) as t
    group by 1, 2`.execute(tx.db);
  return rows;
}

async function countDestinations(tx: SystemTx): Promise<{ state: DestinationState; destinations: number }[]> {
  const { rows } = await sql<{ state: DestinationState; destinations: number }>`
    select ${STATE} as state, count(*)::int as destinations from webhook_destination d
    where d.url is not null group by 1`.execute(tx.db);
  return rows;
}

/** Destinations that are not healthy, or whose events are late, longest lag first. */
async function readTroubledDestinations(tx: SystemTx, lateSeconds: number): Promise<DestinationReport[]> {
  const { rows } = await sql<DestinationReport>`
    select d.account_id as "accountId", d.id as "destinationId", ${STATE} as state, e.waiting,
      coalesce(greatest(extract(epoch from now() - e.oldest), 0), 0)::float8 as "lagSeconds"
    from webhook_destination d
    cross join lateral (
      select count(*)::int as waiting, min(opened_at) filter (where next_attempt_at is null or next_attempt_at < now()) as oldest
      from event where destination_id = d.id and status in ('pending', 'delivering')) as e
    where d.url is not null
      and (d.held_since is not null or d.health in ('failing', 'disabled') or e.oldest < now() - ${lateSeconds} * interval '1 second')
    order by e.oldest nulls last, d.id limit ${LISTED_MAX}`.execute(tx.db);
  return rows;
}

/** Events of the last week that are dead-lettered, or had no destination. */
async function readUndeliverable(tx: SystemTx): Promise<UndeliverableEvents[]> {
  const { rows } = await sql<UndeliverableEvents>`
    select account_id as "accountId", status as state, count(*)::int as events from (
      select account_id, status from event
      where copy_of is null and status in ('dead', 'unrouted') and opened_at > now() - ${UNDELIVERABLE_FOR}
      union all
      select e.account_id, e.status from webhook_destination d join event e on e.destination_id = d.id
      where e.copy_of is not null and e.status = 'dead' and e.opened_at > now() - ${UNDELIVERABLE_FOR}
    ) as event group by 1, 2 order by 3 desc, 1, 2 limit ${LISTED_MAX}`.execute(tx.db);
  return rows;
}

/** Failures and refusals of the last day by account and source, where nothing newer was tried at the source. */
async function readFailed(tx: SystemTx): Promise<FailedQueries[]> {
  const { rows } = await sql<Omit<FailedQueries, 'since'> & { since: Date }>`
    select f."accountId", f.source, f.state, count(*)::int as queries, min(f.at) as since from (
      select a.id as "accountId", t.source, 'failed' as state, t.completed_at as at
      from account a join network_query_attempt t on t.account_id = a.id
      where t.status = 'failed' and not t.will_retry and t.completed_at > now() - interval '1 day'
        and coalesce(t.reason, '') <> all(${[...CANCEL_REASONS]})
        and not exists (
          select from network_query_attempt n
          where n.query_id = t.query_id and n.source = t.source and n.attempt > t.attempt)
      union all
      select a.id, refusal ->> 'source', 'refused', q.started_at
      from account a join network_query q on q.account_id = a.id
      cross join lateral jsonb_array_elements(q.start_errors) as refusal
      where q.started_at > now() - interval '1 day'
        and not exists (
          select from network_query_attempt n where n.query_id = q.id and n.source = refusal ->> 'source')
    ) as f group by 1, 2, 3 order by 4 desc, 1, 2, 3 limit ${LISTED_MAX}`.execute(tx.db);
  return rows.map((row) => ({ ...row, since: row.since.toISOString() }));
}

async function countOthers(tx: SystemTx): Promise<{ unmatchedMessages: number; suspectedWork: number }> {
  const { rows } = await sql<{ unmatchedMessages: number; suspectedWork: number }>`
    select
      (select count(*)::int from inbound_message
        where outcome in ('unmatched', 'ambiguous', 'incomplete') and received_at > now() - interval '1 day'
      ) as "unmatchedMessages",
      (select count(*)::int from activity_start where starts >= 3) as "suspectedWork"`.execute(tx.db);
  return rows[0] ?? { unmatchedMessages: 0, suspectedWork: 0 };
}

const WEEK_MS = 7 * 86_400_000;

/** The smallest UUID of version 7 of a time: ids of messages are in the order of their arrival, so no further index is needed. */
const firstIdSince = (ms: number): string =>
  `${ms
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`;

/** The senders of the last week's messages. */
async function readSenders(tx: SystemTx, now = Date.now()): Promise<SenderReport[]> {
  const { rows } = await sql<SenderReport>`
    with recent as (
      select sender, is_number_reused, received_at, unused from inbound_message
      where id >= ${firstIdSince(now - WEEK_MS)}::uuid),
    drifts as materialized (select * from sender_drift(${firstIdSince(now - WEEK_MS - WEEK_MS / 7)}::uuid)),
    places as (
      select sender, place, count(*)::int as messages,
        row_number() over (partition by sender order by count(*) desc, place) as nth
      from recent cross join lateral unnest(unused) as place group by 1, 2)
    select r.sender, count(*)::int as messages, count(*) filter (where r.is_number_reused)::int as "numbersReused",
      greatest(extract(epoch from now() - max(r.received_at)), 0)::float8 as "silentSeconds",
      coalesce((select jsonb_agg(jsonb_build_object('place', p.place, 'messages', p.messages) order by p.nth)
        from places p where p.sender = r.sender and p.nth <= ${LISTED_MAX}), '[]') as unused,
      coalesce((select jsonb_agg(to_jsonb(d) - 'sender') from drifts d where d.sender = r.sender), '[]') as drift
    from recent r group by r.sender order by r.sender limit ${LISTED_MAX}`.execute(tx.db);
  return rows;
}

/** The process that accepted the work has this long to start its workflow, then `reconcile` does it within its interval. */
const START_GRACE = sql`interval '2 minutes'`;

const NOT_STARTED = sql`count(*) filter (where workflow_started_at is null and`;

/** Open work of all accounts by kind. Each line uses an index that contains open rows only, or a table with few rows. */
async function readOpenWork(tx: SystemTx): Promise<OpenWork[]> {
  const { rows } = await sql<{
    kind: WorkKind;
    open: number;
    notStarted: number;
    oldestSeconds: number;
  }>`
    select kind, open, "notStarted", coalesce(greatest(extract(epoch from now() - oldest), 0), 0)::float8 as "oldestSeconds"
    from (
      select 'network-query' as kind, count(*) as open, min(requested_at) as oldest,
        ${NOT_STARTED} requested_at < now() - ${START_GRACE}) as "notStarted"
      from network_query_run where ended_at is null
      union all
      select 'bulk-create', count(*), min(created_at), ${NOT_STARTED} created_at < now() - ${START_GRACE})
      from bulk_request where status = 'processing' and not paused
      union all
      select 'post-import-queries', count(*), min(b.ended_at), 0
      from bulk_sweep s join bulk_request b on b.id = s.request_id where s.ended_at is null and s.state = 'running'
      union all
      select 'consolidated-query', count(*), min(created_at), ${NOT_STARTED} created_at < now() - ${START_GRACE})
      from consolidated_query where status = 'processing'
      union all
      select 'bulk-export', count(*), min(created_at), ${NOT_STARTED} created_at < now() - ${START_GRACE})
      from bulk_export where status = 'running'
      union all
      select 'redrive', count(*), min(created_at),
        count(*) filter (where workflow_seen_at is null and created_at < now() - ${START_GRACE})
      from query_redrive where ended_at is null
      union all
      select 'outbound-message', count(*), min(sent_at), ${NOT_STARTED} sent_at < now() - ${START_GRACE})
      from message where direction = 'outbound' and status = 'processing'
      union all
      select 'record-notification', count(*), min(changed_at), 0
      from recorded_subject where wanted > recorded or to_be_read
      union all
      select 'erasure', count(*), min(noted_at), 0 from erasure
      union all
      select 'audit-sealing', count(*), min(at), 0 from audit_entry where position is null
    ) as work`.execute(tx.db);
  return rows.map((row) => ({ ...row, open: Number(row.open), notStarted: Number(row.notStarted) }));
}
