import { type RawBuilder, type Selectable, sql } from 'kysely';
import { CANCEL_REASONS } from '../../../contract/network-query-workflow.ts';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';

export type StoredRedrive = Selectable<Database['query_redrive']>;

export type RedriveFilter = Pick<
  Members<'query_redrive'>,
  'source' | 'failedFrom' | 'failedTo' | 'reason'
>;

/** The next failures of a redrive, which go by time and query. */
interface Next {
  redriveId: string;
  /** The last failure that was examined. */
  after: { failedAt: string | null; queryId: string | null };
  max: number;
}

const NO_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Failures (`query_id`, `failed_at`) that the filter matches, or the next ones,
 * at most `max` of each kind: last attempts at the source, and queries that
 * were refused there when they were accepted, and not retried since. What was
 * cancelled has not failed: it matches only a filter that asks for its reason.
 */
function failures(
  tx: AccountTx,
  { source, failedFrom, failedTo, reason }: RedriveFilter,
  next?: Next,
): RawBuilder<unknown> {
  const says = (text: RawBuilder<unknown>) =>
    sql`(${reason}::text is null or position(lower(${reason}::text) in lower(${text})) > 0)`;
  const isNext = (
    failedAt: RawBuilder<unknown>,
    queryId: RawBuilder<unknown>,
  ) =>
    next === undefined
      ? sql`true`
      : sql`(${failedAt}, ${queryId})
          > (${next.after.failedAt ?? '-infinity'}::timestamptz, ${next.after.queryId ?? NO_ID}::uuid)
        and not exists (
          select from network_query_run r where r.query_id = ${queryId} and r.redrive_id = ${next.redriveId}::uuid)`;
  return sql`(
    (select a.query_id, a.completed_at as failed_at from network_query_attempt a
      where a.account_id = ${tx.accountId}::uuid and a.source = ${source} and a.status = 'failed' and not a.will_retry
        and a.completed_at >= ${failedFrom} and a.completed_at < ${failedTo} and ${says(sql`a.reason`)}
        and (${reason}::text is not null or coalesce(a.reason, '') <> all(${[...CANCEL_REASONS]}))
        and ${isNext(sql`a.completed_at`, sql`a.query_id`)}
        and not exists (
          select from network_query_attempt b
          where b.query_id = a.query_id and b.source = a.source and b.attempt > a.attempt)
      order by a.completed_at, a.query_id limit ${next?.max ?? null})
    union all
    (select q.id, q.started_at from network_query q
      cross join lateral jsonb_to_recordset(q.start_errors) as refusal (source text, message text)
      where q.account_id = ${tx.accountId}::uuid and q.start_errors <> '[]' and refusal.source = ${source}
        and q.started_at >= ${failedFrom} and q.started_at < ${failedTo} and ${says(sql`refusal.message`)}
        and ${isNext(sql`q.started_at`, sql`q.id`)}
        and not exists (
          select from network_query_attempt b where b.query_id = q.id and b.source = refusal.source)
      order by q.started_at, q.id limit ${next?.max ?? null}))`;
}

export async function countFailed(
  tx: AccountTx,
  filter: RedriveFilter,
): Promise<number> {
  const { rows } = await sql<{ queries: number }>`
    select count(*)::int as queries from ${failures(tx, filter)} as failure`.execute(
    tx.db,
  );
  return rows[0]?.queries ?? 0;
}

/**
 * Inserts a redrive. Returns undefined when another redrive of this source is
 * running.
 */
export async function insertRedrive(
  tx: AccountTx,
  row: RedriveFilter & { id: string; actor: string; queries: number },
): Promise<StoredRedrive | undefined> {
  return tx.db
    .insertInto('query_redrive')
    .values(columnsOf({ ...row, accountId: tx.accountId }))
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

export const findRedrive = (
  tx: AccountTx,
  id: string,
): Promise<StoredRedrive | undefined> =>
  tx.db
    .selectFrom('query_redrive')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();

/**
 * `afterFailedAt` is `after_failed_at` with microseconds, which a `Date` loses.
 */
export type LockedRedrive = StoredRedrive & { afterFailedAt: string | null };

/**
 * Locks the redrive's row until the transaction ends, so that its queries are
 * retried one at a time.
 */
export const lockRedrive = (
  tx: AccountTx,
  id: string,
): Promise<LockedRedrive | undefined> =>
  tx.db
    .selectFrom('query_redrive')
    .selectAll()
    .select(sql<string | null>`after_failed_at::text`.as('afterFailedAt'))
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();

/** A query that is to be retried. */
export interface FailedQuery {
  queryId: string;
  patientId: string;
  /** With microseconds. */
  failedAt: string;
}

/**
 * The next matching query after the redrive's place. One that this redrive has
 * retried does not match again.
 */
export async function nextFailed(
  tx: AccountTx,
  redrive: LockedRedrive,
): Promise<FailedQuery | undefined> {
  const after = {
    failedAt: redrive.afterFailedAt,
    queryId: redrive.after_query_id,
  };
  const next = { redriveId: redrive.id, after, max: 1 };
  const { rows } = await sql<FailedQuery>`
    select f.query_id as "queryId", q.patient_id as "patientId", f.failed_at::text as "failedAt"
    from ${failures(tx, membersOf(redrive), next)} as f join network_query q on q.id = f.query_id
    order by f.failed_at, f.query_id limit 1`.execute(tx.db);
  return rows[0];
}

/**
 * Moves the place of a redrive past a query, and counts what became of it.
 * Returns undefined when another execution of the step has done so.
 */
export async function passQuery(
  tx: AccountTx,
  id: string,
  { queryId, failedAt }: FailedQuery,
  outcome: 'retried' | 'skipped' | 'failed',
): Promise<StoredRedrive | undefined> {
  return tx.db
    .updateTable('query_redrive')
    .set((eb) => ({
      after_failed_at: sql<Date>`${failedAt}::timestamptz`,
      after_query_id: queryId,
      workflow_seen_at: sql<Date>`now()`,
      [outcome]: eb(outcome, '+', 1),
    }))
    .where('id', '=', id)
    .where('after_query_id', 'is distinct from', queryId)
    .returningAll()
    .executeTakeFirst();
}

/**
 * Ends a running redrive; returns undefined when it has already ended. A
 * completed one has skipped whatever matched when it began and no longer does.
 */
export async function endRedrive(
  tx: AccountTx,
  id: string,
  state: 'completed' | 'cancelled',
): Promise<StoredRedrive | undefined> {
  return tx.db
    .updateTable('query_redrive')
    .set({ state, ended_at: sql<Date>`now()` })
    .$if(state === 'completed', (update) =>
      update.set({
        skipped: sql<number>`greatest(skipped, queries - retried - failed)`,
      }),
    )
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
}

/**
 * How many retries of a redrive have not ended; `busy` counts those doing work,
 * not just waiting for the source.
 */
export async function countOpenRetries(
  tx: AccountTx,
  id: string,
): Promise<{ open: number; busy: number }> {
  const { rows } = await sql<{ open: number; busy: number }>`
    select count(*)::int as open, count(*) filter (where a.job is null or a.pages > 0)::int as busy
    from network_query_run r
    join network_query_attempt a on a.query_id = r.query_id and a.run = r.run
    where r.redrive_id = ${id}::uuid and r.ended_at is null and a.status = 'running'`.execute(
    tx.db,
  );
  return rows[0] ?? { open: 0, busy: 0 };
}

/** Redrives, as rows with a workflow. */
export const redriveRows = workflowRows<{ redriveId: string }>({
  table: 'query_redrive',
  ids: { redriveId: 'id' },
  since: 'created_at',
  seen: 'workflow_seen_at',
  open: sql`ended_at is null`,
});
