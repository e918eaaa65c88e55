import { sql } from 'kysely';
import { counted } from '../../../lib/counted.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';

/**
 * `pack`: contents of records at rest are moved into packs. `unpack`: all are
 * taken out again.
 */
export type PackingMode = 'off' | 'pack' | 'unpack';

export interface PackingState {
  mode: PackingMode;
  /**
   * The patient up to whom (by id) the records that were there when the mode was
   * set have been taken up; null: all.
   */
  upTo: string | null;
  /** When the mode was set, in PostgreSQL's words: a Date has no microseconds. */
  setAt: string;
}

export interface RecordAtRest {
  accountId: string;
  patientId: string;
}

/** No id is before this one. */
const FIRST = '00000000-0000-0000-0000-000000000000';
/** A record is packed when nothing was merged into it for this long. */
const REST_MINUTES = 5;
const BUSY_MINUTES = 1;
const FAILED_HOURS_MAX = 24;

export async function readPacking(tx: SystemTx): Promise<PackingState> {
  const { rows } = await sql<PackingState>`
    select mode, up_to as "upTo", changed_at::text as "setAt" from packing`.execute(
    tx.db,
  );
  return rows[0] ?? { mode: 'off', upTo: null, setAt: '-infinity' };
}

export interface PackingProgress {
  records: number;
  /** How many of them have been taken up since the mode was set. */
  done: number;
  /** Into how many something was merged, to be taken up when they are at rest. */
  waiting: number;
  /** How many of these could be taken up now, and since when the first. */
  due: number;
  oldestDue: Date | null;
  /** Whether anything is in packs, which a build of 0.2.0 cannot read. */
  isAnyPacked: boolean;
}

export async function readPackingProgress(
  tx: SystemTx,
  { upTo }: PackingState,
): Promise<PackingProgress | undefined> {
  const { rows } = await sql<PackingProgress>`
    select count(*) as records, count(*) filter (where ${upTo}::uuid is null or id <= ${upTo}) as done,
      (select count(*) from record_to_pack) as waiting,
      (select count(*) from record_to_pack where due_at <= now()) as due,
      (select min(due_at) from record_to_pack where due_at <= now()) as "oldestDue",
      exists (select from resource_pack) or exists (select from origin_pack) as "isAnyPacked"
    from patient`.execute(tx.db);
  return rows[0];
}

/** Records whose packing fails again and again, with one as an example. */
export interface PackingTrouble extends RecordAtRest {
  records: number;
  failures: number;
}

/** A failure that was the first may be that of a server that went away. */
const FAILURES_SHOWN = 2;

export async function readPackingTrouble(
  tx: SystemTx,
): Promise<PackingTrouble | undefined> {
  const { rows } = await sql<PackingTrouble>`
    select account_id as "accountId", patient_id as "patientId", failures, count(*) over () as records
    from record_to_pack where failures >= ${FAILURES_SHOWN} order by failures desc, patient_id limit 1`.execute(
    tx.db,
  );
  return rows[0];
}

/** For `packs status` and `ops`, without the account. */
export const sayPackingTrouble = ({
  records,
  patientId,
  failures,
}: PackingTrouble): string =>
  `the contents of ${counted(records, 'record')} cannot be moved, such as those of patient ${patientId} (tried ${failures} times)`;

/** The same mode again begins with the first record again. */
export async function setPacking(
  tx: SystemTx,
  mode: PackingMode,
): Promise<void> {
  await sql`update packing set mode = ${mode}, up_to = ${mode === 'off' ? null : FIRST}, changed_at = now()`.execute(
    tx.db,
  );
}

/**
 * Unless the mode was set in the meantime, also to the same again: no note exists of
 * what was merged before that, so the round must begin with the first record.
 */
export async function notePackedUpTo(
  tx: SystemTx,
  setAt: string,
  upTo: string | null,
): Promise<void> {
  await sql`update packing set up_to = ${upTo} where changed_at = ${setAt}::timestamptz`.execute(
    tx.db,
  );
}

/**
 * SQL: notes that something was merged into a record, to pack it once it is at
 * rest. One that could not be packed is not tried sooner for that.
 */
export const noteToPack = (accountId: string, patientId: string) => sql`
  insert into record_to_pack (account_id, patient_id, due_at)
  select ${accountId}, ${patientId}, now() + ${REST_MINUTES} * interval '1 minute'
  from packing where mode = 'pack'
  on conflict (patient_id) do update set due_at = greatest(record_to_pack.due_at, excluded.due_at)`;

/** Records to take up now, those due longest first. */
export async function recordsToPack(
  tx: SystemTx,
  limit: number,
): Promise<RecordAtRest[]> {
  const { rows } = await sql<RecordAtRest>`
    select account_id as "accountId", patient_id as "patientId" from record_to_pack
    where due_at <= now() order by due_at limit ${limit}`.execute(tx.db);
  return rows;
}

/** Records of any account after a patient, by id. */
export async function recordsAfter(
  tx: SystemTx,
  patientId: string,
  limit: number,
): Promise<RecordAtRest[]> {
  const { rows } = await sql<RecordAtRest>`
    select account_id as "accountId", id as "patientId" from patient
    where id > ${patientId} order by id limit ${limit}`.execute(tx.db);
  return rows;
}

/**
 * One transaction's share of a record (0722-packing-watched.sql). Returns how many
 * contents were moved, none if the operator has set another mode; null if the
 * record is being merged.
 */
export async function moveContents(
  tx: AccountTx,
  mode: Exclude<PackingMode, 'off'>,
  patientId: string,
  most: number,
): Promise<number | null> {
  const move =
    mode === 'pack'
      ? sql`pack_record(${patientId}, ${most})`
      : sql`unpack_record(${patientId}, ${most})`;
  const { rows } = await sql<{
    moved: number | null;
  }>`select ${move} as moved`.execute(tx.db);
  return rows[0]?.moved ?? null;
}

/**
 * The same for what the merge knows of a record, all of it at once
 * (0730-origins-in-packs.sql). Returns of how many deliveries. The caller holds the
 * record's lock, as after `moveContents`.
 */
export async function moveOrigins(
  tx: AccountTx,
  mode: Exclude<PackingMode, 'off'>,
  patientId: string,
): Promise<number> {
  const move =
    mode === 'pack'
      ? sql`pack_origins(${patientId})`
      : sql`unpack_origins(${patientId})`;
  const { rows } = await sql<{
    moved: number;
  }>`select ${move} as moved from packing where mode = ${mode}`.execute(tx.db);
  return rows[0]?.moved ?? 0;
}

/** Of what waits when packing is turned off: turned on, it begins with the first record. */
export async function forgetToPack(tx: SystemTx): Promise<void> {
  await sql`delete from record_to_pack`.execute(tx.db);
}

export async function settleToPack(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await sql`delete from record_to_pack where patient_id = ${patientId}`.execute(
    tx.db,
  );
}

/** Takes a record that is being merged up again in a while. */
export async function postponeToPack(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await sql`
    insert into record_to_pack (account_id, patient_id, due_at)
    select account_id, id, now() + ${BUSY_MINUTES} * interval '1 minute' from patient where id = ${patientId}
    on conflict (patient_id) do update set due_at = excluded.due_at`.execute(
    tx.db,
  );
}

/**
 * Takes a record that could not be packed up again after an hour, then after
 * twice as long each time, a day at most.
 */
export async function noteNotPacked(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await sql`
    insert into record_to_pack as r (account_id, patient_id, due_at, failures)
    select account_id, id, now() + interval '1 hour', 1 from patient where id = ${patientId}
    on conflict (patient_id) do update set failures = r.failures + 1,
      due_at = now() + least(power(2, least(r.failures, 5)), ${FAILED_HOURS_MAX}) * interval '1 hour'`.execute(
    tx.db,
  );
}
