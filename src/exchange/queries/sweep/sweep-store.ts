import { type Selectable, sql } from 'kysely';
import type { QuerySweepProgress } from '../../../contract/bulk-create-workflow.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import type { Database } from '../../platform/database/schema.ts';
import type { SweepState } from './tables.ts';

const COUNT_OPEN_QUERIES = sqlFile('count-open-queries.sql', import.meta.url);
const UNSWEPT = sqlFile('recently-unswept.sql', import.meta.url);
const UNSWEPT_IN_SLICE = sqlFile('unswept-in-slice.sql', import.meta.url);

/**
 * The process that completed a bulk create has this long to start its
 * post-import queries before the recovery does.
 */
const START_GRACE_MS = 60_000;

/**
 * Inserts the sweep of a completed bulk create. Does nothing for a dry run, for
 * any other status, or when it exists.
 */
export async function openSweep(
  tx: AccountTx,
  requestId: string,
): Promise<void> {
  await sql`
    insert into bulk_sweep (request_id, account_id, patients)
    select r.id, r.account_id, (select count(*) from bulk_patient p where p.request_id = r.id)
    from bulk_request r where r.id = ${requestId}::uuid and r.status = 'completed' and not r.dry_run
    on conflict (request_id) do nothing
  `.execute(tx.db);
}

/**
 * Locks the sweep's row until the transaction ends, so that pages are started
 * one at a time.
 */
export async function lockSweep(
  tx: AccountTx,
  requestId: string,
): Promise<Selectable<Database['bulk_sweep']> | undefined> {
  return tx.db
    .selectFrom('bulk_sweep')
    .selectAll()
    .where('request_id', '=', requestId)
    .forUpdate()
    .executeTakeFirst();
}

/**
 * Progress of the post-import queries; undefined before they have begun, and
 * for a dry run.
 */
export async function readSweepCounts(
  tx: AccountTx,
  requestId: string,
): Promise<QuerySweepProgress | undefined> {
  const row = await tx.db
    .selectFrom('bulk_sweep')
    .selectAll()
    .where('request_id', '=', requestId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { open } = await countOpenQueries(tx, requestId);
  const { state, patients, started, skipped, failed } = row;
  return { requestId, state, patients, started, skipped, failed, open };
}

/**
 * How many of the sweep's queries have not ended; `busy` counts those doing
 * work, not just waiting for a source's answer.
 */
export async function countOpenQueries(
  tx: AccountTx,
  requestId: string,
): Promise<{ open: number; busy: number }> {
  const { rows } = await COUNT_OPEN_QUERIES<{ open: number; busy: number }>({
    accountId: tx.accountId,
    requestId,
  }).execute(tx.db);
  return rows[0] ?? { open: 0, busy: 0 };
}

/**
 * Changes the state of a sweep that has not ended; returns its state
 * afterwards, undefined when there is no such sweep.
 */
export async function setSweepState(
  tx: AccountTx,
  requestId: string,
  state: SweepState,
): Promise<SweepState | undefined> {
  const hasEnded = state === 'completed' || state === 'cancelled';
  await tx.db
    .updateTable('bulk_sweep')
    .set({
      state,
      seen_at: sql<Date>`now()`,
      ended_at: hasEnded ? sql<Date>`now()` : null,
    })
    .where('request_id', '=', requestId)
    .where('ended_at', 'is', null)
    .execute();
  const row = await tx.db
    .selectFrom('bulk_sweep')
    .select('state')
    .where('request_id', '=', requestId)
    .executeTakeFirst();
  return row?.state;
}

export interface SweepToEnsure {
  accountId: string;
  requestId: string;
  since: Date;
}

/**
 * Completed bulk creates of the last day, of all accounts, that have patients
 * and whose sweep has not begun.
 */
export async function recentlyUnswept(
  tx: SystemTx,
  limit: number,
): Promise<SweepToEnsure[]> {
  const { rows } = await UNSWEPT<SweepToEnsure>({
    graceMs: START_GRACE_MS,
    limit,
  }).execute(tx.db);
  return rows;
}

/**
 * The same among `slice` older bulk creates, those that ended after `after`: a
 * restore or a long outage may have left them. `next` is where the following
 * slice begins; undefined at the end.
 */
export async function unsweptInSlice(
  tx: SystemTx,
  { after, slice }: { after: Date; slice: number },
): Promise<{ unswept: SweepToEnsure[]; next?: Date }> {
  const { rows } = await UNSWEPT_IN_SLICE<
    SweepToEnsure & { isUnswept: boolean }
  >({ after, slice }).execute(tx.db);
  const unswept = rows.filter(({ isUnswept }) => isUnswept);
  return {
    unswept,
    next: rows.length === slice ? rows.at(-1)?.since : undefined,
  };
}

/**
 * Open sweeps of all accounts whose workflow was last seen before
 * `recheckBefore`, longest unseen first.
 */
export async function sweepsToCheck(
  tx: SystemTx,
  { recheckBefore, limit }: { recheckBefore: Date; limit: number },
): Promise<SweepToEnsure[]> {
  return tx.db
    .selectFrom('bulk_sweep')
    .select([
      'account_id as accountId',
      'request_id as requestId',
      'seen_at as since',
    ])
    .where('ended_at', 'is', null)
    .where('seen_at', '<', recheckBefore)
    .orderBy('seen_at')
    .limit(limit)
    .execute();
}

/** Records that the sweep's workflow exists now. */
export async function markSweepSeen(
  tx: AccountTx,
  requestId: string,
): Promise<void> {
  await tx.db
    .updateTable('bulk_sweep')
    .set({ seen_at: sql<Date>`now()` })
    .where('request_id', '=', requestId)
    .execute();
}
