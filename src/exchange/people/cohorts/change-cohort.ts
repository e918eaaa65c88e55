import { isDeepStrictEqual } from 'node:util';
import type { UpdateCohortBody } from '../../../contract/cohorts.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { NameTakenError } from '../../platform/database/postgres-errors.ts';
import { InvalidRequestError, NotFoundError } from '../../platform/errors.ts';
import type { StoredPatient } from '../patients/patient-store.ts';
import {
  addMemberships,
  type CohortContent,
  deleteCohort,
  findCohort,
  holdCohorts,
  lockCohort,
  lockConsent,
  type StoredCohort,
  updateCohort,
} from './cohort-store.ts';
import { removeWithoutTreatment } from './member-store.ts';
import { mergeCohortSettings } from './rules/cohort-settings.ts';

/**
 * Called with the locked cohort before it is changed; may throw to reject the
 * change.
 */
type Check = (cohort: StoredCohort) => void;

/**
 * Changes the members that `change` contains. The version, and with it the
 * eTag, increases if that makes a difference; the patients of a cohort are not
 * part of its version. If the purpose becomes treatment, patients without a
 * treatment relationship are removed. Throws NotFoundError, and
 * InvalidRequestError if another cohort has the name.
 */
export async function changeCohort(
  tx: AccountTx,
  id: string,
  change: UpdateCohortBody,
  check: Check,
): Promise<StoredCohort> {
  await lockConsent(tx, 'shared');
  const known = await requireCohort(tx, id);
  check(known);
  const { id: _id, version: _version, size: _size, ...before } = known;
  const { eTag: _eTag, settings, ...given } = change;
  const after: CohortContent = {
    ...before,
    ...given,
    settings: mergeCohortSettings(known.settings, settings),
  };
  if (isDeepStrictEqual(before, after)) return known;
  await updateCohort(tx, id, after).catch((error: unknown) => {
    throw error instanceof NameTakenError ? nameTaken() : error;
  });
  const becomesTreatment =
    before.purposeOfUse !== 'treatment' && after.purposeOfUse === 'treatment';
  if (becomesTreatment) await removeWithoutTreatment(tx, id);
  return readCohortAgain(tx, id);
}

/**
 * Deletes a cohort (E8). Throws NotFoundError, and InvalidRequestError if it
 * still has patients.
 */
export async function deleteEmptyCohort(
  tx: AccountTx,
  id: string,
  check: Check,
): Promise<void> {
  const cohort = await requireCohort(tx, id);
  check(cohort);
  if (cohort.size > 0) {
    const message = `this cohort still has ${cohort.size} patient${cohort.size === 1 ? '' : 's'}; remove them first (DELETE /medical/v1/cohort/${cohort.id}/patient)`;
    throw new InvalidRequestError([{ path: '', message }]);
  }
  await deleteCohort(tx, id);
}

export const nameTaken = () =>
  new InvalidRequestError([
    { path: 'name', message: 'another cohort has this name' },
  ]);

/**
 * Locks the cohort exclusively until the transaction ends, and returns it.
 * Throws NotFoundError.
 */
export async function requireCohort(
  tx: AccountTx,
  id: string,
): Promise<StoredCohort> {
  const cohort = await lockCohort(tx, id);
  if (cohort === undefined) throw new NotFoundError('Cohort');
  return cohort;
}

/** Reads a cohort again that this transaction has locked. */
export async function readCohortAgain(
  tx: AccountTx,
  id: string,
): Promise<StoredCohort> {
  const cohort = await findCohort(tx, id);
  if (cohort === undefined) throw new Error('a locked cohort no longer exists');
  return cohort;
}

/**
 * Adds a patient, whose row the caller has locked, to all of the cohorts or to
 * none. A patient without a treatment relationship cannot be added to a
 * treatment cohort (docs/interface.md, Cohort). Cohorts that the patient is
 * already in are skipped.
 *
 * Throws InvalidRequestError if consent does not allow a cohort. For an unknown
 * cohort, throws InvalidRequestError if it is named in a patient's body
 * (`cohorts`), NotFoundError if the operation is about cohorts (`cohortIds`).
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
    if (patient.treatmentRelationship || cohort.purposeOfUse !== 'treatment')
      return [];
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
