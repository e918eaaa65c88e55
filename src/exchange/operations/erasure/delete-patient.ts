import {
  consolidatedQueryWorkflowId,
  dischargeFollowUpWorkflowId,
  messageTransmissionWorkflowId,
  networkQueryWorkflowId,
} from '../../../contract/temporal.ts';
import { lockConsent } from '../../people/cohorts/cohort-locks.ts';
import { isOnLegalHold } from '../../people/patients/legal-hold-store.ts';
import type { StoredPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { recordWorkflowsToStop } from '../../platform/erasure/erasure-store.ts';
import { ConflictError, NotFoundError } from '../../platform/errors.ts';
import { keepJobsOfPatient } from '../../queries/network-query/abandoned-job-store.ts';
import { deletePatientRows, findOpenWork, lockPatientAlone } from './deletion-store.ts';

/**
 * Deletes a patient and all data about the patient, except the audit. Blobs and running workflows are recorded in the same
 * transaction, to be erased and stopped after it (`Erasures`); the workflows of queries cancel the jobs at the sources. Later
 * workflow steps, callbacks and links find no rows and end.
 *
 * @param check called with the locked patient first; may throw to reject the deletion
 * @returns the patient's id in lower case
 * @throws NotFoundError, or ConflictError if the patient is under legal hold
 */
export async function deletePatient(
  tx: AccountTx,
  id: string,
  check: (patient: StoredPatient) => void,
): Promise<string> {
  // Taken before the patient, as the lock order of cohort-locks.ts requires.
  await lockConsent(tx, 'alone');
  const patient = await lockPatientAlone(tx, id);
  if (patient === undefined) throw new NotFoundError('Patient');
  check(patient);
  if (await isOnLegalHold(tx, patient.id))
    throw new ConflictError(
      'The patient is under legal hold and cannot be deleted until an operator lifts it',
    );
  const open = await findOpenWork(tx, patient.id);
  await recordWorkflowsToStop(tx, [
    ...open.queryRuns.map(({ requestId, run }) => networkQueryWorkflowId(requestId, run)),
    ...open.consolidatedQueries.map(consolidatedQueryWorkflowId),
    ...open.followUps.map(dischargeFollowUpWorkflowId),
    ...open.messages.map(messageTransmissionWorkflowId),
  ]);
  await keepJobsOfPatient(tx, patient.id);
  await deletePatientRows(tx, patient.id);
  return patient.id;
}
