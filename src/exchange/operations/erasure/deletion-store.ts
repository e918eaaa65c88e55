import { type StoredPatient, toPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';

/** Locks a patient until the transaction ends, so that no row that refers to it can be written concurrently. */
export async function lockPatientAlone(tx: AccountTx, id: string): Promise<StoredPatient | undefined> {
  const row = await tx.db
    .selectFrom('patient')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row && toPatient(row);
}

/** Operations in progress for a patient. */
export interface OpenWork {
  queryRuns: { requestId: string; run: number }[];
  consolidatedQueries: string[];
  /** Notification ids of the discharges. */
  followUps: string[];
  /** Ids of messages being sent. */
  messages: string[];
}

export async function findOpenWork(tx: AccountTx, patientId: string): Promise<OpenWork> {
  const queryRuns = await tx.db
    .selectFrom('network_query_run as r')
    .innerJoin('network_query as q', 'q.id', 'r.query_id')
    .select(['r.query_id as requestId', 'r.run'])
    .where('q.patient_id', '=', patientId)
    .where('r.ended_at', 'is', null)
    .execute();
  const consolidated = await tx.db
    .selectFrom('consolidated_query')
    .select('id')
    .where('patient_id', '=', patientId)
    .where('status', '=', 'processing')
    .execute();
  const followUps = await tx.db
    .selectFrom('discharge_follow_up')
    .select('notification_id')
    .where('patient_id', '=', patientId)
    .where('state', '=', 'open')
    .execute();
  const messages = await tx.db
    .selectFrom('message')
    .select('id')
    .where('patient_id', '=', patientId)
    .where('direction', '=', 'outbound')
    .where('status', '=', 'processing')
    .execute();
  return {
    queryRuns,
    consolidatedQueries: consolidated.map(({ id }) => id),
    followUps: followUps.map((row) => row.notification_id),
    messages: messages.map(({ id }) => id),
  };
}

/**
 * Deletes a patient, locked with `lockPatientAlone`, and every row about the patient except the audit. Most rows are deleted by
 * cascade; events and responses under idempotency keys have no foreign key and are deleted explicitly.
 */
export async function deletePatientRows(tx: AccountTx, patientId: string): Promise<void> {
  await tx.db.deleteFrom('event').where('patient_id', '=', patientId).execute();
  await tx.db
    .deleteFrom('idempotency_key')
    .where('account_id', '=', tx.accountId)
    .where('patient_id', '=', patientId)
    .execute();
  await tx.db.deleteFrom('patient').where('id', '=', patientId).execute();
}
