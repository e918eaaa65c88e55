import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';

/*
 * Lock order (docs/decisions/0023-changes-of-whole-cohorts.md). A change of one patient locks the patient, then the consent
 * lock (only to leave treatment cohorts), then its cohorts in shared mode. A change of a whole cohort takes the consent lock in
 * shared mode, then the cohort exclusively; it locks no patient, so there can be no deadlock.
 *
 * Advisory locks are used because they are fair. With shared row locks, a transaction that needs the row exclusively could
 * starve while a bulk create fills the cohort.
 */

/** First halves of the lock keys; the second half is the account. */
const CONSENT_LOCK = 0x636f_6e73;
const COHORT_LOCK = 0x636f_6800;
/** Number of locks that the cohorts of an account share; the maximum that a transaction holds. */
const COHORT_LOCKS = 64;

type Mode = 'shared' | 'alone';

/**
 * Prevents adding patients by their current consent (`shared`) from running concurrently with a patient's treatment
 * relationship being ended (`alone`).
 */
export function lockConsent(tx: AccountTx, mode: Mode): Promise<void> {
  return take(tx, [CONSENT_LOCK], mode);
}

/** `shared` to add or remove single patients, `alone` to change a cohort or many of its patients. */
export function lockCohorts(tx: AccountTx, cohortIds: readonly string[], mode: Mode): Promise<void> {
  return take(tx, cohortIds.map(lockOf), mode);
}

/** The lock of a cohort, by the last digits of its id, which are random. */
const lockOf = (cohortId: string): number =>
  COHORT_LOCK + (Number.parseInt(cohortId.slice(-2), 16) % COHORT_LOCKS);

/** Takes the locks in numeric order, in a statement of its own, so that the next one sees what the last holder committed. */
async function take(tx: AccountTx, locks: readonly number[], mode: Mode): Promise<void> {
  const sorted = [...new Set(locks)].sort((left, right) => left - right);
  const lock = sql.raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
  await sql`
    select count(${lock}(lock, hashtext(${tx.accountId}))) from unnest(${sorted}::int[]) as locks (lock)
  `.execute(tx.db);
}
