import { sql } from 'kysely';
import type { MonitoringKind } from '../../../contract/cohort-monitoring.ts';
import type { SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import type { WantedSchedule } from './tables.ts';

const DRIFTED_SCHEDULES = sqlFile('drifted-schedules.sql', import.meta.url);

/** One kind of monitoring of one cohort, which may have been deleted. */
export interface ScheduleRef {
  accountId: string;
  cohortId: string;
  kind: MonitoringKind;
}

/** A schedule under lease: no other process writes it until `heldUntil`. */
export interface LeasedSchedule {
  heldUntil: Date;
  /** Undefined when the cohort was deleted. */
  wanted: WantedSchedule | undefined;
  /** Whether it was last written according to the current settings. */
  inLine: boolean;
  fingerprint: Buffer | null;
}

/** The state in which a schedule was written. */
export interface WrittenSchedule {
  applied: WantedSchedule;
  fingerprint: Buffer | null;
}

/**
 * The cohorts whose ids are greater than `after`, up to and including `upTo`;
 * an end that is missing is open.
 */
export interface CohortRange {
  after?: string;
  upTo?: string;
}

/**
 * The end of the slice of at most `size` cohorts after an id, deleted cohorts
 * with a schedule included; undefined at the end.
 */
export async function sliceEnd(
  tx: SystemTx,
  { after, size }: { after?: string; size: number },
): Promise<string | undefined> {
  const from = after ?? '00000000-0000-0000-0000-000000000000';
  const { rows } = await sql<{ id: string }>`
    select id from (
      (select id from cohort where id > ${from}::uuid order by id limit ${size})
      union (select cohort_id from cohort_schedule where cohort_id > ${from}::uuid order by cohort_id limit ${size})
    ) as slice order by id limit 1 offset ${size - 1}
  `.execute(tx.db);
  return rows[0]?.id;
}

/**
 * Schedules that differ from the current settings: new, changed, switched off,
 * or of a deleted cohort. Leased ones are left out. Monitoring that was never
 * enabled has no schedule. In random order, so that schedules that cannot be
 * written do not block the others every time.
 */
export async function driftedSchedules(
  tx: SystemTx,
  {
    rules,
    limit,
    cohortId,
    range,
  }: { rules: number; limit: number; cohortId?: string; range?: CohortRange },
): Promise<ScheduleRef[]> {
  const bounds = {
    cohortId: cohortId ?? null,
    after: range?.after ?? null,
    upTo: range?.upTo ?? null,
  };
  const { rows } = await DRIFTED_SCHEDULES<ScheduleRef>({
    ...bounds,
    rules,
    limit,
  }).execute(tx.db);
  return rows;
}

/**
 * Schedules that were last compared with Temporal before this time, in random
 * order.
 */
export async function schedulesToCheck(
  tx: SystemTx,
  { before, limit }: { before: Date; limit: number },
): Promise<ScheduleRef[]> {
  return tx.db
    .selectFrom('cohort_schedule')
    .select(['account_id as accountId', 'cohort_id as cohortId', 'kind'])
    .where('checked_at', '<', before)
    .orderBy(sql`random()`)
    .limit(limit)
    .execute();
}

/**
 * Leases a schedule for `forMs` milliseconds, inserting its row if needed.
 * Undefined while another process has the lease.
 */
export async function leaseSchedule(
  tx: SystemTx,
  { accountId, cohortId, kind }: ScheduleRef,
  { rules, forMs }: { rules: number; forMs: number },
): Promise<LeasedSchedule | undefined> {
  const { rows: leases } = await sql<{ heldUntil: Date }>`
    insert into cohort_schedule as s (cohort_id, kind, account_id, held_until)
    values (${cohortId}, ${kind}, ${accountId}, now() + ${forMs} * interval '1 millisecond')
    on conflict (cohort_id, kind) do update set held_until = excluded.held_until
    where s.held_until is null or s.held_until < now()
    returning held_until as "heldUntil"
  `.execute(tx.db);
  const heldUntil = leases[0]?.heldUntil;
  if (heldUntil === undefined) return undefined;
  const { rows } = await sql<Omit<LeasedSchedule, 'heldUntil'>>`
    select w.wanted, s.fingerprint, coalesce(s.applied = w.wanted and s.rules >= ${rules}::int, false) as "inLine"
    from cohort_schedule s left join wanted_cohort_schedule w on w.cohort_id = s.cohort_id and w.kind = s.kind
    where s.cohort_id = ${cohortId} and s.kind = ${kind}
  `.execute(tx.db);
  const [row] = rows;
  return {
    heldUntil,
    wanted: row?.wanted ?? undefined,
    inLine: row?.inLine ?? false,
    fingerprint: row?.fingerprint ?? null,
  };
}

/**
 * Ends the lease, and records how the schedule was written, if it was. Does
 * nothing when the lease has passed to another process.
 */
export async function releaseSchedule(
  tx: SystemTx,
  { cohortId, kind }: ScheduleRef,
  { heldUntil }: LeasedSchedule,
  written?: WrittenSchedule & { rules: number },
): Promise<void> {
  const facts = written && {
    ...written,
    applied: JSON.stringify(written.applied),
    checked_at: sql<Date>`now()`,
  };
  await tx.db
    .updateTable('cohort_schedule')
    .set({ ...facts, held_until: null })
    .where(({ and }) =>
      and({ cohort_id: cohortId, kind, held_until: heldUntil }),
    )
    .execute();
}

/**
 * Deletes the row of a schedule that no longer exists in Temporal, if the lease
 * is still held.
 */
export async function deleteScheduleRow(
  tx: SystemTx,
  { cohortId, kind }: ScheduleRef,
  { heldUntil }: LeasedSchedule,
): Promise<void> {
  await tx.db
    .deleteFrom('cohort_schedule')
    .where(({ and }) =>
      and({ cohort_id: cohortId, kind, held_until: heldUntil }),
    )
    .execute();
}

/**
 * Inserts a row for each schedule found in Temporal that has none; it then
 * counts as differing from the settings. Schedules of unknown accounts are
 * ignored. Returns the number of rows inserted.
 */
export async function adoptSchedules(
  tx: SystemTx,
  found: readonly ScheduleRef[],
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    insert into cohort_schedule (cohort_id, kind, account_id)
    select f."cohortId", f.kind, f."accountId"
    from jsonb_to_recordset(${JSON.stringify(found)}::jsonb) as f("accountId" uuid, "cohortId" uuid, kind text)
    join account on account.id = f."accountId"
    on conflict do nothing
  `.execute(tx.db);
  return Number(numAffectedRows);
}
