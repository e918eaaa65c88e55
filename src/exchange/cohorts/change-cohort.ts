import { isDeepStrictEqual } from 'node:util';
import type { UpdateCohortBody } from '../../contract/cohorts.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { NameTakenError } from '../platform/database/violations.ts';
import { InvalidRequestError, NotFoundError } from '../platform/errors.ts';
import { lockConsent } from './cohort-locks.ts';
import {
  type CohortContent,
  deleteCohort,
  findCohort,
  lockCohort,
  type StoredCohort,
  updateCohort,
} from './cohort-store.ts';
import { removeWithoutTreatment } from './member-store.ts';
import { mergeCohortSettings } from './rules/cohort-settings.ts';

/** Sees the cohort as it is held, before anything is changed, and may refuse. */
type Check = (cohort: StoredCohort) => void;

/**
 * Changes what `change` names. Its version, and so its eTag, is raised when that makes a difference; who is in a cohort
 * is not part of its version. A cohort that becomes one for treatment loses the patients whom it would not take.
 * Throws NotFoundError, and InvalidRequestError when another cohort has the name.
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
  const before: CohortContent = {
    name: known.name,
    description: known.description,
    color: known.color,
    purposeOfUse: known.purposeOfUse,
    settings: known.settings,
  };
  const after: CohortContent = {
    name: change.name ?? known.name,
    description: change.description ?? known.description,
    color: change.color ?? known.color,
    purposeOfUse: change.purposeOfUse ?? known.purposeOfUse,
    settings: mergeCohortSettings(known.settings, change.settings),
  };
  if (isDeepStrictEqual(before, after)) return known;
  await updateCohort(tx, id, after).catch((error: unknown) => {
    throw error instanceof NameTakenError ? nameTaken() : error;
  });
  const becomesTreatment = before.purposeOfUse !== 'treatment' && after.purposeOfUse === 'treatment';
  if (becomesTreatment) await removeWithoutTreatment(tx, id);
  return readAgain(tx, id);
}

/** Throws NotFoundError, and InvalidRequestError while patients are in the cohort (E8). */
export async function deleteEmptyCohort(tx: AccountTx, id: string, check: Check): Promise<void> {
  const cohort = await requireCohort(tx, id);
  check(cohort);
  if (cohort.size > 0) {
    const message = `this cohort still has ${cohort.size} patient${cohort.size === 1 ? '' : 's'}; remove them first (DELETE /medical/v1/cohort/${cohort.id}/patient)`;
    throw new InvalidRequestError([{ path: '', message }]);
  }
  await deleteCohort(tx, id);
}

export const nameTaken = () =>
  new InvalidRequestError([{ path: 'name', message: 'another cohort has this name' }]);

/** The cohort, held alone until the transaction ends. Throws NotFoundError. */
export async function requireCohort(tx: AccountTx, id: string): Promise<StoredCohort> {
  const cohort = await lockCohort(tx, id);
  if (cohort === undefined) throw new NotFoundError('Cohort');
  return cohort;
}

/** A cohort that this transaction holds, as it has become. */
export async function readAgain(tx: AccountTx, id: string): Promise<StoredCohort> {
  const cohort = await findCohort(tx, id);
  if (cohort === undefined) throw new Error('a cohort that is held is gone');
  return cohort;
}
