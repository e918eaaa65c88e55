import { sql } from 'kysely';
import type { SystemTx } from '../../platform/database/database.ts';
import {
  type DestinationReport,
  type DestinationState,
  type FailedQueries,
  LISTED_MAX,
  type SourceOutcome,
  type UndeliverableEvents,
} from './report.ts';

/** SQL: a destination is held whatever its health. */
const STATE = sql`case when d.held_since is not null then 'held' else d.health end`;
/** Retention keeps events for longer, but what was not repaired within a week is no news. */
const UNDELIVERABLE_FOR = sql`interval '7 days'`;

/** How the queries of the last hour stand at each source. Goes through the accounts, because queries are indexed by account. */
export async function readOutcomes(tx: SystemTx): Promise<SourceOutcome[]> {
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

export async function countDestinations(
  tx: SystemTx,
): Promise<{ state: DestinationState; destinations: number }[]> {
  const { rows } = await sql<{ state: DestinationState; destinations: number }>`
    select ${STATE} as state, count(*)::int as destinations from webhook_destination d
    where d.url is not null group by 1`.execute(tx.db);
  return rows;
}

/** Destinations that are not healthy, or whose events are late, longest lag first. */
export async function readTroubledDestinations(
  tx: SystemTx,
  lateSeconds: number,
): Promise<DestinationReport[]> {
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
export async function readUndeliverable(tx: SystemTx): Promise<UndeliverableEvents[]> {
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
export async function readFailed(tx: SystemTx): Promise<FailedQueries[]> {
  const { rows } = await sql<Omit<FailedQueries, 'since'> & { since: Date }>`
    select f."accountId", f.source, f.state, count(*)::int as queries, min(f.at) as since from (
      select a.id as "accountId", t.source, 'failed' as state, t.completed_at as at
      from account a join network_query_attempt t on t.account_id = a.id
      where t.status = 'failed' and not t.will_retry and t.completed_at > now() - interval '1 day'
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

export async function countOthers(
  tx: SystemTx,
): Promise<{ unmatchedMessages: number; suspectedWork: number }> {
  const { rows } = await sql<{ unmatchedMessages: number; suspectedWork: number }>`
    select
      (select count(*)::int from inbound_message
        where outcome in ('unmatched', 'ambiguous', 'incomplete') and received_at > now() - interval '1 day'
      ) as "unmatchedMessages",
      (select count(*)::int from activity_start where starts >= 3) as "suspectedWork"`.execute(tx.db);
  return rows[0] ?? { unmatchedMessages: 0, suspectedWork: 0 };
}
