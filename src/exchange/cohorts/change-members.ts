import type { CohortPatientsBody } from '../../contract/cohorts.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { type FieldError, InvalidRequestError, NotFoundError } from '../platform/errors.ts';
import { readAgain, requireCohort } from './change-cohort.ts';
import { lockConsent } from './cohort-locks.ts';
import type { StoredCohort } from './cohort-store.ts';
import {
  addAllPatients,
  addPatients,
  listWithoutTreatment,
  readConsent,
  removePatients,
} from './member-store.ts';

/** Maximum number of skipped patients listed in a response; there may be a hundred thousand. */
const SKIPPED_IDS_MAX = 100;
/** Maximum number of errors listed in a response. */
const ERRORS_MAX = 100;

export interface AddedPatients {
  cohort: StoredCohort;
  /** Number of patients who were not in the cohort before. */
  added: number;
  /** With `allPatients`: patients without a treatment relationship. */
  skipped?: { total: number; patientIds: string[] };
}

/**
 * Adds patients by id, all or none of them, or every patient of the account whose consent allows it (docs/interface.md,
 * Cohort). Throws NotFoundError for an unknown cohort or patient, and InvalidRequestError for patients without the treatment
 * relationship that a treatment cohort requires.
 */
export async function addToCohort(
  tx: AccountTx,
  cohortId: string,
  { patientIds }: CohortPatientsBody,
): Promise<AddedPatients> {
  await lockConsent(tx, 'shared');
  const { id, purposeOfUse } = await requireCohort(tx, cohortId);
  const treatedOnly = purposeOfUse === 'treatment';
  if (patientIds !== undefined) {
    await requirePatients(tx, patientIds, treatedOnly);
    const added = await addPatients(tx, id, patientIds);
    return { cohort: await readAgain(tx, id), added };
  }
  const added = await addAllPatients(tx, id, treatedOnly);
  const skipped = treatedOnly
    ? await listWithoutTreatment(tx, SKIPPED_IDS_MAX)
    : { total: 0, patientIds: [] };
  return { cohort: await readAgain(tx, id), added, skipped };
}

/** Removes patients by id, or all of them; ids of patients not in the cohort are ignored. Throws NotFoundError for the cohort. */
export async function removeFromCohort(
  tx: AccountTx,
  cohortId: string,
  { patientIds }: CohortPatientsBody,
): Promise<{ cohort: StoredCohort; removed: number }> {
  await lockConsent(tx, 'shared');
  const { id } = await requireCohort(tx, cohortId);
  const removed = await removePatients(tx, id, patientIds ?? 'all');
  return { cohort: await readAgain(tx, id), removed };
}

async function requirePatients(
  tx: AccountTx,
  patientIds: readonly string[],
  treatedOnly: boolean,
): Promise<void> {
  const known = await readConsent(tx, patientIds);
  const barred: FieldError[] = [];
  for (const [index, id] of patientIds.entries()) {
    const consent = known.get(id.toLowerCase());
    if (consent === undefined) throw new NotFoundError(`Patient ${id}`);
    if (treatedOnly && !consent.treatmentRelationship && barred.length < ERRORS_MAX) {
      const message = `patient ${id} has no treatment relationship (status.treatmentRelationship is false), and this cohort is for treatment`;
      barred.push({ path: `patientIds[${index}]`, message });
    }
  }
  if (barred.length > 0) throw new InvalidRequestError(barred);
}
