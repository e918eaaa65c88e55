import { sql } from 'kysely';
import type { COHORT_PATIENT_SORT } from '../../contract/cohorts.ts';
import { findPatients, type StoredPatient } from '../patients/patient-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { column, type ListOrder, type Page, type PageRequest, readPage } from '../platform/database/page.ts';
import { OvertakenError } from '../platform/database/retry.ts';
import { violates } from '../platform/database/violations.ts';

export const COHORT_PATIENT_ORDER: ListOrder<(typeof COHORT_PATIENT_SORT)[number]> = {
  columns: {
    // The member's column, not the patient's: its index leads straight to the page.
    id: column('cohort_member.patient_id', 'uuid'),
    createdAt: column('patient.created_at', 'timestamptz'),
  },
  unique: 'id',
  tieBreak: column('patient.id', 'uuid'),
  default: [{ column: 'id', direction: 'asc' }],
};

export async function listCohortPatients(
  tx: AccountTx,
  cohortId: string,
  request: PageRequest,
): Promise<Page<StoredPatient>> {
  const members = tx.db.selectFrom('cohort_member').where('cohort_id', '=', cohortId);
  // Ids first, and by id without a look at the patients: whatever the database guesses of a cohort that has just been
  // filled, it walks the members' index or sorts narrow rows.
  const page =
    request.sort[0]?.column === 'id'
      ? await readPage(members.select('patient_id as id'), COHORT_PATIENT_ORDER, request)
      : await readPage(
          members.innerJoin('patient', 'patient.id', 'patient_id').select('patient.id'),
          COHORT_PATIENT_ORDER,
          request,
        );
  return {
    ...page,
    items: await findPatients(
      tx,
      page.items.map(({ id }) => id),
    ),
  };
}

/** Of the given patients those that exist, with their consent. */
export async function readConsent(
  tx: AccountTx,
  patientIds: readonly string[],
): Promise<Map<string, { treatmentRelationship: boolean }>> {
  const rows = await tx.db
    .selectFrom('patient')
    .select(['id', 'treatment_relationship as treatmentRelationship'])
    .where('id', '=', sql<string>`any(${patientIds}::uuid[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** Adds patients to a cohort that this transaction holds; answers how many were not in it. */
export async function addPatients(
  tx: AccountTx,
  cohortId: string,
  patientIds: readonly string[],
): Promise<number> {
  const chosen = sql<boolean>`id = any(${patientIds}::uuid[])`;
  return addChosen(tx, cohortId, chosen);
}

/** Adds every patient of the account, `treatedOnly` those with a treatment relationship. */
export function addAllPatients(tx: AccountTx, cohortId: string, treatedOnly: boolean): Promise<number> {
  return addChosen(tx, cohortId, treatedOnly ? sql<boolean>`treatment_relationship` : sql<boolean>`true`);
}

async function addChosen(
  tx: AccountTx,
  cohortId: string,
  chosen: ReturnType<typeof sql<boolean>>,
): Promise<number> {
  const result = await tx.db
    .insertInto('cohort_member')
    .columns(['account_id', 'cohort_id', 'patient_id'])
    .expression((from) =>
      from
        .selectFrom('patient')
        .select(['account_id', sql<string>`${cohortId}::uuid`.as('cohort_id'), 'id'])
        .where(chosen),
    )
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
    .catch((error: unknown) => {
      const gone = violates(error, 'cohort_member_patient_id_fkey');
      throw gone ? new OvertakenError('a patient was deleted meanwhile') : error;
    });
  return Number(result.numInsertedOrUpdatedRows ?? 0);
}

/** Patients whom a treatment cohort does not take: how many, and the first of them. */
export async function listWithoutTreatment(
  tx: AccountTx,
  idsMax: number,
): Promise<{ total: number; patientIds: string[] }> {
  const barred = tx.db.selectFrom('patient').where('treatment_relationship', '=', false);
  const { total } = await barred
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const rows = await barred.select('id').orderBy('id').limit(idsMax).execute();
  return { total, patientIds: rows.map(({ id }) => id) };
}

/** Removes the patients, or everybody, from a cohort that this transaction holds; answers how many were in it. */
export async function removePatients(
  tx: AccountTx,
  cohortId: string,
  patientIds: readonly string[] | 'all',
): Promise<number> {
  let removal = tx.db.deleteFrom('cohort_member').where('cohort_id', '=', cohortId);
  if (patientIds !== 'all') {
    removal = removal.where('patient_id', '=', sql<string>`any(${patientIds}::uuid[])`);
  }
  const result = await removal.executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Removes those without a treatment relationship from a cohort that this transaction holds. */
export async function removeWithoutTreatment(tx: AccountTx, cohortId: string): Promise<void> {
  await tx.db
    .deleteFrom('cohort_member')
    .where('cohort_id', '=', cohortId)
    .where('patient_id', 'in', (sub) =>
      sub.selectFrom('patient').select('id').where('treatment_relationship', '=', false),
    )
    .execute();
}
