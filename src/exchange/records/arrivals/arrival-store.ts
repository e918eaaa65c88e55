import { sql } from 'kysely';
import { ARRIVAL_WAIT_MS } from '../../../contract/record-arrivals-workflow.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';

/**
 * How long what arrives for further records waits, for each record of the
 * account that waits already, in milliseconds. A flood is thereby merged in few
 * pieces: at ten records a second each is merged once a minute.
 */
const WAIT_PER_WAITING_MS = 1_000;
const WAIT_MAX_MS = 60_000;
/** Records taken up at once. */
const RECORDS_MAX = 50;

/**
 * Notes that something has arrived in a patient's record without a query, or
 * has been taken out of it. The record is merged soon after the commit
 * (`Arrivals.tell`); what arrives until then is merged with it. Called last in
 * its transaction, because it locks the row.
 */
export async function noteArrival(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await sql`
    insert into record_arrival (account_id, patient_id, due_at)
    select ${tx.accountId}, ${patientId}, now() + least(${WAIT_MAX_MS}::int, greatest(${ARRIVAL_WAIT_MS}::int,
      ${WAIT_PER_WAITING_MS}::int * (select count(*)
        from (select from record_arrival where account_id = ${tx.accountId} limit ${WAIT_MAX_MS / WAIT_PER_WAITING_MS}) as waiting)))
      * interval '1 millisecond'
    on conflict (account_id, patient_id) do update set arrivals = record_arrival.arrivals + 1`.execute(
    tx.db.later,
  );
}

/** A record that is due to be merged. */
export interface DueRecord {
  accountId: string;
  patientId: string;
  /** How many arrivals were noted when it was taken up. */
  arrivals: string;
  /** When it was due. */
  since: Date;
}

/** The records that are due, the accounts in turns. */
export async function dueRecords(tx: SystemTx): Promise<DueRecord[]> {
  const { rows } = await sql<DueRecord>`
    select account_id as "accountId", patient_id as "patientId", arrivals, due_at as since
    from (select *, row_number() over (partition by account_id order by due_at) as turn
      from record_arrival where due_at <= now()) as due
    order by turn, due_at limit ${RECORDS_MAX}`.execute(tx.db);
  return rows;
}

/** In how many milliseconds the next record is due; undefined: none waits. */
export async function untilNextRecord(
  tx: SystemTx,
): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number }>`
    select greatest(0, ceil(extract(epoch from due_at - now()) * 1000))::int as ms
    from record_arrival order by due_at limit 1`.execute(tx.db);
  return rows[0]?.ms;
}

/** How many records have waited too long, and since when the first was due. */
export async function overdueRecords(
  tx: SystemTx,
  afterMs: number,
): Promise<{ found: number; oldestSince?: Date }> {
  const { rows } = await sql<{ found: number; oldest: Date | null }>`
    select count(*)::int as found, min(due_at) as oldest from record_arrival
    where due_at < now() - ${afterMs}::int * interval '1 millisecond'`.execute(
    tx.db,
  );
  const [row] = rows;
  return { found: row?.found ?? 0, oldestSince: row?.oldest ?? undefined };
}

/**
 * After the merge: nothing waits any more, unless more has arrived meanwhile,
 * which is due anew.
 */
export async function settleRecord(
  tx: AccountTx,
  { patientId, arrivals }: DueRecord,
): Promise<void> {
  const { numAffectedRows } = await sql`
    delete from record_arrival where patient_id = ${patientId} and arrivals = ${arrivals}`.execute(
    tx.db,
  );
  if (numAffectedRows === 1n) return;
  await sql`
    update record_arrival set failures = 0, due_at = now() + ${ARRIVAL_WAIT_MS}::int * interval '1 millisecond'
    where patient_id = ${patientId}`.execute(tx.db);
}

/**
 * After a merge that failed: due again in a minute, then twice as long each
 * time, at most an hour.
 */
export async function postponeRecord(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await sql`
    update record_arrival set failures = failures + 1, due_at = now() + least(60, 2 ^ least(failures, 6)) * interval '1 minute'
    where patient_id = ${patientId}`.execute(tx.db);
}
