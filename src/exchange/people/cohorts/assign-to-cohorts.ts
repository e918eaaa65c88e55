import type { AccountTx } from '../../platform/database/database.ts';
import { InvalidRequestError, NotFoundError } from '../../platform/errors.ts';
import type { StoredPatient } from '../patients/patient-store.ts';
import { addMemberships, holdCohorts } from './cohort-store.ts';

/**
 * Adds a patient, whose row the caller has locked, to all of the cohorts or to none. A patient without a treatment relationship
 * cannot be added to a treatment cohort (docs/interface.md, Cohort). Cohorts that the patient is already in are skipped.
 *
 * Throws InvalidRequestError if consent does not allow a cohort. For an unknown cohort, throws InvalidRequestError if it is
 * named in a patient's body (`cohorts`), NotFoundError if the operation is about cohorts (`cohortIds`).
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
        message: `cohort ${id} is for treatment, but the patient has no treatment relationship (status.treatmentRelationship is false)`,
      },
    ];
  });
  if (errors.length > 0) throw new InvalidRequestError(errors);
  await addMemberships(tx, patient.id, ids);
}
