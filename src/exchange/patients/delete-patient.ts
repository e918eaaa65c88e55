import {
  consolidatedQueryWorkflowId,
  dischargeFollowUpWorkflowId,
  messageTransmissionWorkflowId,
  networkQueryWorkflowId,
} from '../../contract/temporal.ts';
import { lockConsent } from '../cohorts/cohort-locks.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { NotFoundError } from '../platform/errors.ts';
import { deletePatientRows, findOpenWork, lockPatientAlone } from './deletion-store.ts';
import { noteWorkflowsToStop } from './erasure-store.ts';
import type { StoredPatient } from './patient-store.ts';

/**
 * Deletes a patient and everything about the patient but the audit. What is not in PostgreSQL (blobs, workflows that run)
 * is noted in the same transaction and done after it (`Erasures`). A step of a workflow that comes later finds nothing
 * and ends; so does a callback or a link.
 *
 * @param check sees the patient first and may refuse. Throws NotFoundError.
 * @returns the patient's id as it is written
 */
export async function deletePatient(
  tx: AccountTx,
  id: string,
  check: (patient: StoredPatient) => void,
): Promise<string> {
  // First, and so before any change of whole cohorts that would wait for the patient (cohort-locks.ts).
  await lockConsent(tx, 'alone');
  const patient = await lockPatientAlone(tx, id);
  if (patient === undefined) throw new NotFoundError('Patient');
  check(patient);
  const open = await findOpenWork(tx, patient.id);
  await noteWorkflowsToStop(tx, [
    ...open.queryRuns.map(({ requestId, run }) => networkQueryWorkflowId(requestId, run)),
    ...open.consolidatedQueries.map(consolidatedQueryWorkflowId),
    ...open.followUps.map(dischargeFollowUpWorkflowId),
    ...open.messages.map(messageTransmissionWorkflowId),
  ]);
  await deletePatientRows(tx, patient.id);
  return patient.id;
}
