import { sql } from 'kysely';
import type { COHORT_COLORS } from '../../../contract/cohorts.ts';
import { columnsOf, type Members } from '../../platform/database/columns.ts';
import type {
  AccountTx,
  Store,
  SystemTx,
} from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import {
  NameTakenError,
  violates,
} from '../../platform/database/postgres-errors.ts';
import {
  type Recovery,
  removalRecovery,
} from '../../platform/recovery/recovery.ts';

const ADD_UP_SIZES = sqlFile('add-up-sizes.sql', import.meta.url);

export interface StoredCohort
  extends Pick<
    Members<'cohort'>,
    'id' | 'name' | 'description' | 'purposeOfUse' | 'settings' | 'version'
  > {
  color: (typeof COHORT_COLORS)[number];
  /** Number of patients. */
  size: number;
}

/** The members of a cohort that a change can write. */
export type CohortContent = Omit<StoredCohort, 'id' | 'version' | 'size'>;
export type NewCohort = Omit<StoredCohort, 'version' | 'size'>;

/** All cohorts of the account, or those of one patient, ordered by name. */
export async function listCohorts(
  tx: AccountTx,
  filter: { patientId?: string } = {},
): Promise<StoredCohort[]> {
  const { patientId } = filter;
  let query = selectCohorts(tx);
  if (patientId !== undefined) {
    query = query.where('cohort.id', 'in', (sub) =>
      sub
        .selectFrom('cohort_member')
        .select('cohort_id')
        .where('patient_id', '=', patientId),
    );
  }
  return query.orderBy('cohort.name').execute();
}

export async function findCohort(
  tx: AccountTx,
  id: string,
): Promise<StoredCohort | undefined> {
  return selectCohorts(tx).where('cohort.id', '=', id).executeTakeFirst();
}

/**
 * Locks a cohort exclusively until the transaction ends: neither it nor its
 * patients can be changed concurrently. Undefined if it does not exist.
 */
export async function lockCohort(
  tx: AccountTx,
  id: string,
): Promise<StoredCohort | undefined> {
  await lockCohorts(tx, [id], 'alone');
  return findCohort(tx, id);
}

/** Inserts a cohort; undefined if the account has a cohort with this name. */
export async function insertCohort(
  tx: AccountTx,
  cohort: NewCohort,
): Promise<StoredCohort | undefined> {
  const row = await tx.db
    .insertInto('cohort')
    .values({
      ...columnsOf({ ...cohort, accountId: tx.accountId }),
      settings: JSON.stringify(cohort.settings),
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'name']).doNothing(),
    )
    .returning('version')
    .executeTakeFirst();
  return row && { ...cohort, version: row.version, size: 0 };
}

/**
 * Replaces the content and increases the version. Throws NameTakenError if
 * another cohort has the name; the transaction must then be rolled back.
 */
export async function updateCohort(
  tx: AccountTx,
  id: string,
  content: CohortContent,
): Promise<void> {
  await tx.db
    .updateTable('cohort')
    .set({
      ...columnsOf(content),
      settings: JSON.stringify(content.settings),
      version: sql`version + 1`,
    })
    .where('id', '=', id)
    .execute()
    .catch((error: unknown) => {
      throw violates(error, 'cohort_account_id_name_key')
        ? new NameTakenError()
        : error;
    });
}

/** Deletes an empty cohort, which the caller has locked with `lockCohort`. */
export async function deleteCohort(tx: AccountTx, id: string): Promise<void> {
  await tx.db.deleteFrom('cohort').where('id', '=', id).execute();
}

export type NamedCohort = Pick<StoredCohort, 'id' | 'name' | 'purposeOfUse'>;

/**
 * Locks the given cohorts in shared mode, so that their purpose cannot change,
 * and returns those that exist.
 */
export async function holdCohorts(
  tx: AccountTx,
  ids: readonly string[],
): Promise<NamedCohort[]> {
  if (ids.length === 0) return [];
  await lockCohorts(tx, ids, 'shared');
  return findCohorts(tx, ids);
}

/** Returns those of the given cohorts that exist, without locking them. */
export async function findCohorts(
  tx: AccountTx,
  ids: readonly string[],
): Promise<NamedCohort[]> {
  if (ids.length === 0) return [];
  return tx.db
    .selectFrom('cohort')
    .select(['id', 'name', 'purpose_of_use as purposeOfUse'])
    .where('id', 'in', [...ids])
    .orderBy('id')
    .execute();
}

/**
 * Adds a patient to cohorts; those that the patient is already in are skipped.
 */
export async function addMemberships(
  tx: AccountTx,
  patientId: string,
  cohortIds: readonly string[],
): Promise<void> {
  if (cohortIds.length === 0) return;
  await tx.db
    .insertInto('cohort_member')
    .values(
      cohortIds.map((id) => ({
        account_id: tx.accountId,
        cohort_id: id,
        patient_id: patientId,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * Removes a patient, whose row the caller has locked, from every treatment
 * cohort. The locks of the row and of consent prevent the patient from being
 * added to one concurrently.
 */
export async function removeFromTreatmentCohorts(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await lockConsent(tx, 'alone');
  await tx.db
    .deleteFrom('cohort_member')
    .where('patient_id', '=', patientId)
    .where('cohort_id', 'in', (sub) =>
      sub
        .selectFrom('cohort')
        .select('id')
        .where('purpose_of_use', '=', 'treatment'),
    )
    .execute();
}

function selectCohorts(tx: AccountTx) {
  return tx.db
    .selectFrom('cohort')
    .select([
      'cohort.id',
      'name',
      'description',
      'purpose_of_use as purposeOfUse',
      'settings',
      'version',
    ])
    .select(sql<StoredCohort['color']>`color`.as('color'))
    .select(COHORT_SIZE.as('size'));
}

/**
 * The number of a cohort's patients: as last added up, and the changes since.
 */
const COHORT_SIZE = sql<number>`cohort.patients_counted + coalesce(
  (select sum(change) from cohort_size_change where cohort_size_change.cohort_id = cohort.id), 0)::bigint`;

/**
 * Adds up the changes of cohorts' sizes, so that reading a size reads few of
 * them.
 */
export const sizeSummation = ({
  store,
}: {
  store: Pick<Store, 'asSystem'>;
}): Recovery =>
  removalRecovery('changes of cohort sizes', (limit) =>
    store.asSystem((tx) => addUp(tx, limit)),
  );

/**
 * One statement, so that every reader sees a change either as a row or as part
 * of the sum.
 */
async function addUp(tx: SystemTx, limit: number): Promise<number> {
  const { rows } = await ADD_UP_SIZES<{ changes: number }>({ limit }).execute(
    tx.db,
  );
  return rows[0]?.changes ?? 0;
}

/*
 * Lock order (docs/decisions/0023-changes-of-whole-cohorts.md). A change of one
 * patient locks the patient, then the consent lock (only to leave treatment
 * cohorts), then its cohorts in shared mode. A change of a whole cohort takes
 * the consent lock in shared mode, then the cohort exclusively; it locks no
 * patient, so there can be no deadlock.
 *
 * Advisory locks are used because they are fair. With shared row locks, a
 * transaction that needs the row exclusively could starve while a bulk create
 * fills the cohort.
 */

/** First halves of the lock keys; the second half is the account. */
const CONSENT_LOCK = 0x636f_6e73;
const COHORT_LOCK = 0x636f_6800;
/**
 * Number of locks that the cohorts of an account share; the maximum that a
 * transaction holds.
 */
const COHORT_LOCKS = 64;

type Mode = 'shared' | 'alone';

/**
 * Prevents adding patients by their current consent (`shared`) from running
 * concurrently with a patient's treatment relationship being ended (`alone`).
 */
export function lockConsent(tx: AccountTx, mode: Mode): Promise<void> {
  return take(tx, [CONSENT_LOCK], mode);
}

/**
 * `shared` to add or remove single patients, `alone` to change a cohort or many
 * of its patients.
 */
function lockCohorts(
  tx: AccountTx,
  cohortIds: readonly string[],
  mode: Mode,
): Promise<void> {
  return take(tx, cohortIds.map(lockOf), mode);
}

/** The lock of a cohort, by the last digits of its id, which are random. */
const lockOf = (cohortId: string): number =>
  COHORT_LOCK + (Number.parseInt(cohortId.slice(-2), 16) % COHORT_LOCKS);

/**
 * Takes the locks in numeric order, in a statement of its own, so that the next
 * one sees what the last holder committed.
 */
async function take(
  tx: AccountTx,
  locks: readonly number[],
  mode: Mode,
): Promise<void> {
  const sorted = [...new Set(locks)].sort((left, right) => left - right);
  const lock = sql.raw(
    mode === 'shared'
      ? 'pg_advisory_xact_lock_shared'
      : 'pg_advisory_xact_lock',
  );
  await sql`
    select count(${lock}(lock, hashtext(${tx.accountId}))) from unnest(${sorted}::int[]) as locks (lock)
  `.execute(tx.db);
}
