import { sql } from 'kysely';
import type { COHORT_PATIENT_SORT } from '../../../contract/cohorts.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  column,
  type ListOrder,
  type Page,
  type PageRequest,
  readPage,
} from '../../platform/database/page.ts';
import { violates } from '../../platform/database/postgres-errors.ts';
import { OvertakenError } from '../../platform/database/retry.ts';
import { findPatients, type StoredPatient } from '../patients/patient-store.ts';

export const COHORT_PATIENT_ORDER: ListOrder<
  (typeof COHORT_PATIENT_SORT)[number]
> = {
  columns: {
    // The column of cohort_member rather than patient, because its index can be
    // used.
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
  const members = tx.db
    .selectFrom('cohort_member')
    .where('cohort_id', '=', cohortId);
  // Ids are read first, and sorted by id without joining patients, so that even
  // with outdated statistics, after a cohort was filled, the database uses the
  // index or sorts narrow rows.
  const page =
    request.sort[0]?.column === 'id'
      ? await readPage(
          members.select('patient_id as id'),
          COHORT_PATIENT_ORDER,
          request,
        )
      : await readPage(
          members
            .innerJoin('patient', 'patient.id', 'patient_id')
            .select('patient.id'),
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

/** Returns the consent of those of the given patients that exist, by id. */
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

/**
 * Adds patients to a cohort that the caller has locked. Returns how many were
 * not in it.
 */
export async function addPatients(
  tx: AccountTx,
  cohortId: string,
  patientIds: readonly string[],
): Promise<number> {
  const chosen = sql<boolean>`id = any(${patientIds}::uuid[])`;
  return addChosen(tx, cohortId, chosen);
}

/**
 * Adds every patient of the account; with `treatedOnly`, only those with a
 * treatment relationship. Returns how many were not in it.
 */
export function addAllPatients(
  tx: AccountTx,
  cohortId: string,
  treatedOnly: boolean,
): Promise<number> {
  return addChosen(
    tx,
    cohortId,
    treatedOnly ? sql<boolean>`treatment_relationship` : sql<boolean>`true`,
  );
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
        .select([
          'account_id',
          sql<string>`${cohortId}::uuid`.as('cohort_id'),
          'id',
        ])
        .where(chosen),
    )
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
    .catch((error: unknown) => {
      const gone = violates(error, 'cohort_member_patient_id_fkey');
      throw gone
        ? new OvertakenError('a patient was deleted concurrently')
        : error;
    });
  return Number(result.numInsertedOrUpdatedRows ?? 0);
}

/**
 * Patients without a treatment relationship: their number, and the first
 * `idsMax` ids.
 */
export async function listWithoutTreatment(
  tx: AccountTx,
  idsMax: number,
): Promise<{ total: number; patientIds: string[] }> {
  const barred = tx.db
    .selectFrom('patient')
    .where('treatment_relationship', '=', false);
  const { total } = await barred
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const rows = await barred.select('id').orderBy('id').limit(idsMax).execute();
  return { total, patientIds: rows.map(({ id }) => id) };
}

/**
 * Removes the given patients, or all, from a cohort that the caller has locked.
 * Returns how many were in it.
 */
export async function removePatients(
  tx: AccountTx,
  cohortId: string,
  patientIds: readonly string[] | 'all',
): Promise<number> {
  let removal = tx.db
    .deleteFrom('cohort_member')
    .where('cohort_id', '=', cohortId);
  if (patientIds !== 'all') {
    removal = removal.where(
      'patient_id',
      '=',
      sql<string>`any(${patientIds}::uuid[])`,
    );
  }
  const result = await removal.executeTakeFirst();
  return Number(result.numDeletedRows);
}

/**
 * Removes patients without a treatment relationship from a cohort that the
 * caller has locked.
 */
export async function removeWithoutTreatment(
  tx: AccountTx,
  cohortId: string,
): Promise<void> {
  await tx.db
    .deleteFrom('cohort_member')
    .where('cohort_id', '=', cohortId)
    .where('patient_id', 'in', (sub) =>
      sub
        .selectFrom('patient')
        .select('id')
        .where('treatment_relationship', '=', false),
    )
    .execute();
}
