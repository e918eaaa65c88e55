import { sql } from 'kysely';
import type { RequestedSource } from '../../../contract/network-query.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { SweepState } from './tables.ts';

/** A patient of a bulk create who is to be queried. */
export interface SweptPatient {
  patientId: string;
  /** Undefined when the patient has been deleted since. */
  patient?: { id: string; hieOptOut: boolean };
}

/** The next `count` patients without an outcome, in file order; locked, so that none is deleted before the transaction ends. */
export async function nextToSweep(tx: AccountTx, requestId: string, count: number): Promise<SweptPatient[]> {
  const next = await tx.db
    .selectFrom('bulk_patient')
    .select('patient_id')
    .where('request_id', '=', requestId)
    .where('sweep_outcome', 'is', null)
    .orderBy('first_row')
    .orderBy('patient_id')
    .limit(count)
    .execute();
  if (next.length === 0) return [];
  const ids = next.map(({ patient_id }) => patient_id);
  const patients = await tx.db
    .selectFrom('patient')
    .select(['id', 'hie_opt_out'])
    .where('id', 'in', ids)
    .orderBy('id')
    .forKeyShare()
    .execute();
  const optOuts = new Map(patients.map(({ id, hie_opt_out }) => [id, hie_opt_out]));
  return ids.map((patientId) => {
    const hieOptOut = optOuts.get(patientId);
    return { patientId, patient: hieOptOut === undefined ? undefined : { id: patientId, hieOptOut } };
  });
}

export interface SweepQuery {
  id: string;
  patientId: string;
  metadata: Record<string, string>;
  sources: { source: SourceType; callbackHash: Buffer }[];
}

/** Inserts many queries with their first run, attempts and timeline entry; one statement for each table. */
export async function insertSweepQueries(tx: AccountTx, queries: readonly SweepQuery[]): Promise<void> {
  if (queries.length === 0) return;
  const account_id = tx.accountId;
  await tx.db
    .insertInto('network_query')
    .values(
      queries.map((query) => ({
        id: query.id,
        account_id,
        patient_id: query.patientId,
        purpose_of_use: 'treatment' as const,
        origin: 'bulk' as const,
        metadata: JSON.stringify(query.metadata),
        requested: JSON.stringify(
          query.sources.map(({ source }): RequestedSource => ({ source, realtime: false })),
        ),
        status: 'running' as const,
      })),
    )
    .execute();
  await tx.db
    .insertInto('network_query_run')
    .values(
      queries.map(({ id, sources }) => ({
        query_id: id,
        run: 0,
        account_id,
        sources: sources.map(({ source }) => source),
      })),
    )
    .execute();
  await tx.db
    .insertInto('network_query_attempt')
    .values(
      queries.flatMap(({ id, sources }) =>
        sources.map(({ source, callbackHash }) => ({
          query_id: id,
          source,
          attempt: 1,
          run: 0,
          account_id,
          status: 'running' as const,
          callback_hash: callbackHash,
        })),
      ),
    )
    .execute();
  await tx.db
    .insertInto('network_query_timeline')
    .values(
      queries.map(({ id, sources }) => ({
        query_id: id,
        account_id,
        kind: 'query-accepted',
        message: `Query accepted for ${sources.map(({ source }) => source).join(', ')} after a bulk create; it starts now`,
      })),
    )
    .execute();
}

export interface SweepMark {
  patientId: string;
  outcome: 'started' | 'skipped' | 'failed';
  queryId?: string;
}

/**
 * Records the outcome of patients, adds to the counts and sets the state; `completed` also ends the post-import queries. An
 * outcome that is already recorded stays.
 */
export async function markSwept(
  tx: AccountTx,
  requestId: string,
  marks: readonly SweepMark[],
  state: SweepState,
): Promise<void> {
  await sql`
    update bulk_patient p set query_id = m.query_id, sweep_outcome = m.outcome
    from unnest(${marks.map(({ patientId }) => patientId)}::uuid[],
                ${marks.map(({ queryId }) => queryId ?? null)}::uuid[],
                ${marks.map(({ outcome }) => outcome)}::text[]) as m (patient_id, query_id, outcome)
    where p.request_id = ${requestId}::uuid and p.patient_id = m.patient_id and p.sweep_outcome is null
  `.execute(tx.db);
  const count = (outcome: SweepMark['outcome']) => marks.filter((mark) => mark.outcome === outcome).length;
  await tx.db
    .updateTable('bulk_sweep')
    .set({
      state,
      started: sql<number>`started + ${count('started')}`,
      skipped: sql<number>`skipped + ${count('skipped')}`,
      failed: sql<number>`failed + ${count('failed')}`,
      seen_at: sql<Date>`now()`,
      ended_at: state === 'completed' ? sql<Date>`now()` : null,
    })
    .where('request_id', '=', requestId)
    .execute();
}

/**
 * Skips, in one statement, patients among the next `ofNext`: the deleted ones, those opted out of hie when `optedOut` is
 * true, and the rest when `others` is true.
 */
export async function skipNext(
  tx: AccountTx,
  requestId: string,
  { ofNext, optedOut, others }: { ofNext: number; optedOut: boolean; others: boolean },
): Promise<void> {
  await sql`
    with upcoming as (
      select patient_id from bulk_patient where request_id = ${requestId}::uuid and sweep_outcome is null
      order by first_row, patient_id limit ${ofNext}
    ), passed as (
      update bulk_patient p set sweep_outcome = 'skipped'
      from upcoming left join patient on patient.id = upcoming.patient_id
      where p.request_id = ${requestId}::uuid and p.patient_id = upcoming.patient_id
        and case when patient.id is null then true
                 when patient.hie_opt_out then ${optedOut}::boolean else ${others}::boolean end
      returning 1
    )
    update bulk_sweep set skipped = skipped + (select count(*) from passed) where request_id = ${requestId}::uuid
  `.execute(tx.db);
}
