import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { SourceType } from '../../contract/primitives.ts';
import type { AccountTx, SystemTx } from '../platform/database/database.ts';
import type { Database } from '../platform/database/schema.ts';

export type StoredRedrive = Selectable<Database['query_redrive']>;

export interface RedriveFilter {
  source: SourceType;
  failedFrom: Date;
  failedTo: Date;
  reason: string | null;
}

/** Attempts `a` that are the last ones at their source, and failed as the filter says. */
const failedAttempts = (
  tx: AccountTx,
  { source, failedFrom, failedTo, reason }: RedriveFilter,
): RawBuilder<unknown> => sql`
  network_query_attempt a
  where a.account_id = ${tx.accountId}::uuid and a.source = ${source} and a.status = 'failed' and not a.will_retry
    and a.completed_at >= ${failedFrom} and a.completed_at < ${failedTo}
    and (${reason}::text is null or position(lower(${reason}::text) in lower(a.reason)) > 0)
    and not exists (
      select from network_query_attempt b
      where b.query_id = a.query_id and b.source = a.source and b.attempt > a.attempt)`;

export async function countFailed(tx: AccountTx, filter: RedriveFilter): Promise<number> {
  const { rows } = await sql<{ queries: number }>`
    select count(*)::int as queries from ${failedAttempts(tx, filter)}`.execute(tx.db);
  return rows[0]?.queries ?? 0;
}

/** Inserts a redrive. Returns undefined when another redrive of this source is running. */
export async function insertRedrive(
  tx: AccountTx,
  row: RedriveFilter & { id: string; actor: string; queries: number },
): Promise<StoredRedrive | undefined> {
  return tx.db
    .insertInto('query_redrive')
    .values({
      id: row.id,
      account_id: tx.accountId,
      actor: row.actor,
      source: row.source,
      failed_from: row.failedFrom,
      failed_to: row.failedTo,
      reason: row.reason,
      queries: row.queries,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

export const findRedrive = (tx: AccountTx, id: string): Promise<StoredRedrive | undefined> =>
  tx.db.selectFrom('query_redrive').selectAll().where('id', '=', id).executeTakeFirst();

/** `afterFailedAt` is `after_failed_at` with microseconds, which a `Date` loses. */
export type LockedRedrive = StoredRedrive & { afterFailedAt: string | null };

/** Locks the redrive's row until the transaction ends, so that its queries are retried one at a time. */
export const lockRedrive = (tx: AccountTx, id: string): Promise<LockedRedrive | undefined> =>
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

const NO_ID = '00000000-0000-0000-0000-000000000000';

/** The next matching query after the redrive's place. One that this redrive has retried does not match again. */
export async function nextFailed(tx: AccountTx, redrive: LockedRedrive): Promise<FailedQuery | undefined> {
  const filter = {
    source: redrive.source,
    failedFrom: redrive.failed_from,
    failedTo: redrive.failed_to,
    reason: redrive.reason,
  };
  const { rows } = await sql<FailedQuery>`
    select f.query_id as "queryId", q.patient_id as "patientId", f.completed_at::text as "failedAt"
    from (
      select a.query_id, a.completed_at from ${failedAttempts(tx, filter)}
        and not exists (
          select from network_query_run r where r.query_id = a.query_id and r.redrive_id = ${redrive.id}::uuid)
        and (a.completed_at, a.query_id) > (
          ${redrive.afterFailedAt ?? '-infinity'}::timestamptz, ${redrive.after_query_id ?? NO_ID}::uuid)
      order by a.completed_at, a.query_id limit 1
    ) f join network_query q on q.id = f.query_id`.execute(tx.db);
  return rows[0];
}

/**
 * Moves the place of a redrive past a query, and counts what became of it. Returns undefined when another execution of the
 * step has done so.
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
 * Ends a running redrive; returns undefined when it has already ended. A completed one has skipped whatever matched when it
 * began and no longer does.
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
      update.set({ skipped: sql<number>`greatest(skipped, queries - retried - failed)` }),
    )
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
}

/** How many retries of a redrive have not ended; `busy` counts those doing work, not just waiting for the source. */
export async function countOpenRetries(tx: AccountTx, id: string): Promise<{ open: number; busy: number }> {
  const { rows } = await sql<{ open: number; busy: number }>`
    select count(*)::int as open, count(*) filter (where a.job is null or a.pages > 0)::int as busy
    from network_query_run r
    join network_query_attempt a on a.query_id = r.query_id and a.run = r.run
    where r.redrive_id = ${id}::uuid and r.ended_at is null and a.status = 'running'`.execute(tx.db);
  return rows[0] ?? { open: 0, busy: 0 };
}

export interface RedriveToEnsure {
  accountId: string;
  redriveId: string;
  since: Date;
  isStarted: boolean;
}

/** Running redrives whose workflow has not been started, then those whose workflow was last seen before `lookAgainBefore`. */
export async function redrivesToEnsure(
  tx: SystemTx,
  { olderThanMs, lookAgainBefore, limit }: { olderThanMs: number; lookAgainBefore: Date; limit: number },
): Promise<RedriveToEnsure[]> {
  return tx.db
    .selectFrom('query_redrive')
    .select(['account_id as accountId', 'id as redriveId', 'created_at as since'])
    .select(sql<boolean>`workflow_seen_at is not null`.as('isStarted'))
    .where('ended_at', 'is', null)
    .where(
      sql<boolean>`case when workflow_seen_at is null
        then created_at < now() - ${olderThanMs} * interval '1 millisecond'
        else workflow_seen_at < ${lookAgainBefore} end`,
    )
    .orderBy(sql`workflow_seen_at is not null`)
    .orderBy('created_at')
    .limit(limit)
    .execute();
}

/** Records that the redrive's workflow exists now. */
export async function markRedriveSeen(tx: AccountTx, id: string): Promise<void> {
  await tx.db
    .updateTable('query_redrive')
    .set({ workflow_seen_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}
