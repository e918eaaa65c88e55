import { sql } from 'kysely';
import type { COHORT_COLORS, CohortSettings } from '../../contract/cohorts.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { NameTakenError, violates } from '../platform/database/violations.ts';
import { lockCohorts, lockConsent } from './cohort-locks.ts';

export interface StoredCohort {
  id: string;
  name: string;
  description: string;
  color: (typeof COHORT_COLORS)[number];
  purposeOfUse: 'treatment' | 'operations';
  settings: CohortSettings;
  version: number;
  /** Patients in it. */
  size: number;
}

/** What a change of a cohort writes; its members are not part of it. */
export type CohortContent = Omit<StoredCohort, 'id' | 'version' | 'size'>;
export type NewCohort = Omit<StoredCohort, 'version' | 'size'>;

/** All cohorts of the account, or those of one patient, by name. */
export async function listCohorts(
  tx: AccountTx,
  filter: { patientId?: string } = {},
): Promise<StoredCohort[]> {
  const { patientId } = filter;
  let query = selectCohorts(tx);
  if (patientId !== undefined) {
    query = query.where('cohort.id', 'in', (sub) =>
      sub.selectFrom('cohort_member').select('cohort_id').where('patient_id', '=', patientId),
    );
  }
  return query.orderBy('cohort.name').execute();
}

export async function findCohort(tx: AccountTx, id: string): Promise<StoredCohort | undefined> {
  return selectCohorts(tx).where('cohort.id', '=', id).executeTakeFirst();
}

/**
 * Takes a cohort alone until the transaction ends: no other change of it or of who is in it goes on beside this one.
 * Undefined when there is none.
 */
export async function lockCohort(tx: AccountTx, id: string): Promise<StoredCohort | undefined> {
  await lockCohorts(tx, [id], 'alone');
  return findCohort(tx, id);
}

/** Undefined when the account has a cohort of that name. */
export async function insertCohort(tx: AccountTx, cohort: NewCohort): Promise<StoredCohort | undefined> {
  const row = await tx.db
    .insertInto('cohort')
    .values({
      id: cohort.id,
      account_id: tx.accountId,
      name: cohort.name,
      description: cohort.description,
      color: cohort.color,
      purpose_of_use: cohort.purposeOfUse,
      settings: JSON.stringify(cohort.settings),
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .returning('version')
    .executeTakeFirst();
  return row && { ...cohort, version: row.version, size: 0 };
}

/**
 * Replaces the content and raises the version. Throws NameTakenError when another cohort has the name; the
 * transaction is lost then.
 */
export async function updateCohort(tx: AccountTx, id: string, content: CohortContent): Promise<void> {
  const { name, description, color, purposeOfUse, settings } = content;
  await tx.db
    .updateTable('cohort')
    .set({
      name,
      description,
      color,
      purpose_of_use: purposeOfUse,
      settings: JSON.stringify(settings),
      version: sql<number>`version + 1`,
    })
    .where('id', '=', id)
    .execute()
    .catch((error: unknown) => {
      throw violates(error, 'cohort_account_id_name_key') ? new NameTakenError() : error;
    });
}

/** The cohort is empty, and held by `lockCohort`. */
export async function deleteCohort(tx: AccountTx, id: string): Promise<void> {
  await tx.db.deleteFrom('cohort').where('id', '=', id).execute();
}

export type NamedCohort = Pick<StoredCohort, 'id' | 'name' | 'purposeOfUse'>;

/** Those of the given cohorts that exist, held so that they and their purpose stay until the transaction ends. */
export async function holdCohorts(tx: AccountTx, ids: readonly string[]): Promise<NamedCohort[]> {
  if (ids.length === 0) return [];
  await lockCohorts(tx, ids, 'shared');
  return lookAtCohorts(tx, ids);
}

/** Those of the given cohorts that exist, as they are now. */
export async function lookAtCohorts(tx: AccountTx, ids: readonly string[]): Promise<NamedCohort[]> {
  if (ids.length === 0) return [];
  return tx.db
    .selectFrom('cohort')
    .select(['id', 'name', 'purpose_of_use as purposeOfUse'])
    .where('id', 'in', [...ids])
    .orderBy('id')
    .execute();
}

/** Cohorts that the patient is already in are skipped. */
export async function addMemberships(
  tx: AccountTx,
  patientId: string,
  cohortIds: readonly string[],
): Promise<void> {
  if (cohortIds.length === 0) return;
  await tx.db
    .insertInto('cohort_member')
    .values(cohortIds.map((id) => ({ account_id: tx.accountId, cohort_id: id, patient_id: patientId })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * Takes the patient, whose row this transaction holds, out of every cohort whose purpose is treatment. Nobody can be
 * adding it to one meanwhile: not by its own row, nor with all patients (`lockConsent`).
 */
export async function removeFromTreatmentCohorts(tx: AccountTx, patientId: string): Promise<void> {
  await lockConsent(tx, 'alone');
  await tx.db
    .deleteFrom('cohort_member')
    .where('patient_id', '=', patientId)
    .where('cohort_id', 'in', (sub) =>
      sub.selectFrom('cohort').select('id').where('purpose_of_use', '=', 'treatment'),
    )
    .execute();
}

function selectCohorts(tx: AccountTx) {
  return tx.db
    .selectFrom('cohort')
    .select(['cohort.id', 'name', 'description', 'purpose_of_use as purposeOfUse', 'settings', 'version'])
    .select(sql<StoredCohort['color']>`color`.as('color'))
    .select(
      sql<number>`(select count(*) from cohort_member where cohort_member.cohort_id = cohort.id)`.as('size'),
    );
}
