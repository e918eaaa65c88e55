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

/** Skipped patients that an answer names; there may be a hundred thousand. */
const SKIPPED_IDS_MAX = 100;
/** Mistakes that an answer names. */
const ERRORS_MAX = 100;

export interface AddedPatients {
  cohort: StoredCohort;
  /** Who were not in it before. */
  added: number;
  /** With `allPatients`: whom consent bars. */
  skipped?: { total: number; patientIds: string[] };
}

/**
 * Adds patients by id, all or none of them, or everybody whom consent allows (interface-decisions.md, Consent).
 * Throws NotFoundError for the cohort or a patient, InvalidRequestError for patients whom the cohort does not take.
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

/** Removes patients by id, or everybody; ids of others are ignored. Throws NotFoundError for the cohort. */
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
