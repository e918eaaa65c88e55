import {
  consolidatedQueryWorkflowId,
  dischargeFollowUpWorkflowId,
  messageTransmissionWorkflowId,
  networkQueryWorkflowId,
} from '../../../contract/temporal.ts';
import { lockConsent } from '../../people/cohorts/cohort-store.ts';
import { isOnLegalHold } from '../../people/patients/legal-hold-store.ts';
import {
  type StoredPatient,
  toPatient,
} from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { recordWorkflowsToStop } from '../../platform/erasure/erasures.ts';
import { ConflictError, orNotFound } from '../../platform/errors.ts';
import { keepJobsOfPatient } from '../../queries/network-query/abandoned-jobs.ts';

/**
 * Deletes a patient and all data about the patient, except the audit. Blobs and
 * running workflows are recorded in the same transaction, to be erased and
 * stopped after it (`Erasures`); the workflows of queries cancel the jobs at
 * the sources. Later workflow steps, callbacks and links find no rows and end.
 *
 * @param check called with the locked patient first; may throw to reject the
 *   deletion
 * @returns the patient's id in lower case
 * @throws NotFoundError, or ConflictError if the patient is under legal hold
 */
export async function deletePatient(
  tx: AccountTx,
  id: string,
  check: (patient: StoredPatient) => void,
): Promise<string> {
  // Taken before the patient, as the lock order of cohort-store.ts requires.
  await lockConsent(tx, 'alone');
  const patient = orNotFound('Patient', await lockPatientAlone(tx, id));
  check(patient);
  if (await isOnLegalHold(tx, patient.id))
    throw new ConflictError(
      'The patient is under legal hold and cannot be deleted until an operator lifts it',
    );
  const open = await findOpenWork(tx, patient.id);
  await recordWorkflowsToStop(tx, [
    ...open.queryRuns.map(({ requestId, run }) =>
      networkQueryWorkflowId(requestId, run),
    ),
    ...open.consolidatedQueries.map(consolidatedQueryWorkflowId),
    ...open.followUps.map(dischargeFollowUpWorkflowId),
    ...open.messages.map(messageTransmissionWorkflowId),
  ]);
  await keepJobsOfPatient(tx, patient.id);
  await deletePatientRows(tx, patient.id);
  return patient.id;
}

/**
 * Locks a patient until the transaction ends, so that no row that refers to it
 * can be written concurrently.
 */
async function lockPatientAlone(
  tx: AccountTx,
  id: string,
): Promise<StoredPatient | undefined> {
  const row = await tx.db
    .selectFrom('patient')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row && toPatient(row);
}

/** Operations in progress for a patient. */
interface OpenWork {
  queryRuns: { requestId: string; run: number }[];
  consolidatedQueries: string[];
  /** Notification ids of the discharges. */
  followUps: string[];
  /** Ids of messages being sent. */
  messages: string[];
}

async function findOpenWork(
  tx: AccountTx,
  patientId: string,
): Promise<OpenWork> {
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
    .where(({ and }) => and({ patient_id: patientId, status: 'processing' }))
    .execute();
  const followUps = await tx.db
    .selectFrom('discharge_follow_up')
    .select('notification_id')
    .where(({ and }) => and({ patient_id: patientId, state: 'open' }))
    .execute();
  const messages = await tx.db
    .selectFrom('message')
    .select('id')
    .where(({ and }) =>
      and({
        patient_id: patientId,
        direction: 'outbound',
        status: 'processing',
      }),
    )
    .execute();
  return {
    queryRuns,
    consolidatedQueries: consolidated.map(({ id }) => id),
    followUps: followUps.map((row) => row.notification_id),
    messages: messages.map(({ id }) => id),
  };
}

/**
 * Deletes a patient, locked with `lockPatientAlone`, and every row about the
 * patient except the audit. Most rows are deleted by cascade; events and
 * responses under idempotency keys have no foreign key and are deleted
 * explicitly.
 */
async function deletePatientRows(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await tx.db.deleteFrom('event').where('patient_id', '=', patientId).execute();
  await tx.db
    .deleteFrom('idempotency_key')
    .where(({ and }) =>
      and({ account_id: tx.accountId, patient_id: patientId }),
    )
    .execute();
  await tx.db.deleteFrom('patient').where('id', '=', patientId).execute();
}
