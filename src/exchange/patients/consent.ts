import { addMemberships, holdCohorts } from '../cohorts/cohort-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { InvalidRequestError, NotFoundError } from '../platform/errors.ts';
import type { StoredPatient } from './patient-store.ts';

/**
 * Assigns a patient, whose row this transaction holds, to cohorts. All or nothing: without a treatment
 * relationship no treatment cohort takes the patient (interface-decisions.md, Consent). Cohorts that the patient is
 * in already are skipped.
 *
 * Throws InvalidRequestError for a cohort that consent bars; for an unknown one too in a patient's body (`cohorts`),
 * NotFoundError where the cohorts are what the call is about (`cohortIds`).
 */
export async function assignToCohorts(
  tx: AccountTx,
  patient: Pick<StoredPatient, 'id' | 'treatmentRelationship'>,
  cohortIds: readonly string[],
  field: 'cohorts' | 'cohortIds',
): Promise<void> {
  const ids = [...new Set(cohortIds.map((id) => id.toLowerCase()))];
  const cohorts = await holdCohorts(tx, ids);
  const errors = cohortIds.flatMap((id, index) => {
    const path = `${field}[${index}]`;
    const cohort = cohorts.find((known) => known.id === id.toLowerCase());
    if (cohort === undefined) {
      if (field === 'cohortIds') throw new NotFoundError(`Cohort ${id}`);
      return [{ path, message: `there is no cohort ${id}` }];
    }
    if (patient.treatmentRelationship || cohort.purposeOfUse !== 'treatment') return [];
    return [
      {
        path,
        message: `cohort ${id} is for treatment, and the patient has no treatment relationship (status.treatmentRelationship is false)`,
      },
    ];
  });
  if (errors.length > 0) throw new InvalidRequestError(errors);
  await addMemberships(tx, patient.id, ids);
}
