import { sql } from 'kysely';
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
}

export interface RecordAtRest {
  accountId: string;
  patientId: string;
}

/** No id is before this one. */
const FIRST = '00000000-0000-0000-0000-000000000000';
/** A record is packed when nothing was merged into it for this long. */
const REST_MINUTES = 5;

export async function readPacking(tx: SystemTx): Promise<PackingState> {
  const { rows } =
    await sql<PackingState>`select mode, up_to as "upTo" from packing`.execute(
      tx.db,
    );
  return rows[0] ?? { mode: 'off', upTo: null };
}

/** How many of the records have been taken up, and how many wait to be. */
export async function readPackingProgress(
  tx: SystemTx,
  { upTo }: PackingState,
): Promise<{ records: number; done: number; waiting: number }> {
  const { rows } = await sql<{
    records: number;
    done: number;
    waiting: number;
  }>`
    select count(*) as records, count(*) filter (where ${upTo}::uuid is null or id <= ${upTo}) as done,
      (select count(*) from record_to_pack) as waiting
    from patient`.execute(tx.db);
  return rows[0] ?? { records: 0, done: 0, waiting: 0 };
}

/** The same mode again begins with the first record again. */
export async function setPacking(
  tx: SystemTx,
  mode: PackingMode,
): Promise<void> {
  await sql`update packing set mode = ${mode}, up_to = ${mode === 'off' ? null : FIRST}, changed_at = now()`.execute(
    tx.db,
  );
}

/** Unless the mode was changed in the meantime. */
export async function notePackedUpTo(
  tx: SystemTx,
  mode: PackingMode,
  upTo: string | null,
): Promise<void> {
  await sql`update packing set up_to = ${upTo} where mode = ${mode} and up_to is not null`.execute(
    tx.db,
  );
}

/** SQL: notes that something was merged into a record, to pack it later. */
export const noteToPack = (accountId: string, patientId: string) => sql`
  insert into record_to_pack (account_id, patient_id, due_at)
  select ${accountId}, ${patientId}, now() + ${REST_MINUTES} * interval '1 minute'
  from packing where mode = 'pack'
  on conflict do nothing`;

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
 * One transaction's share of a record (0671-packed-records.sql). Returns how many
 * contents were moved; null if the record is being merged.
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

export async function settleToPack(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await sql`delete from record_to_pack where patient_id = ${patientId}`.execute(
    tx.db,
  );
}

/** Takes a record up again in a while. */
export async function postponeToPack(
  tx: AccountTx,
  patientId: string,
  minutes: number,
): Promise<void> {
  await sql`
    insert into record_to_pack (account_id, patient_id, due_at)
    values (${tx.accountId}, ${patientId}, now() + ${minutes} * interval '1 minute')
    on conflict (patient_id) do update set due_at = excluded.due_at`.execute(
    tx.db,
  );
}
