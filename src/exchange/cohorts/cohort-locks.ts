import { sql } from 'kysely';
import type { AccountTx } from '../platform/database/database.ts';

/*
 * Who may wait for whom (docs/decisions/0023-changes-of-whole-cohorts.md). A change of one patient takes the patient, then
 * the consent lock (only to leave treatment cohorts), then its cohorts, shared. A change of a whole cohort takes the
 * consent lock, shared, then the cohort alone; it locks no patient, so it waits for nobody who waits for it.
 *
 * These are advisory locks because they are fair. Rows locked in share go from one holder to the next without end while a
 * bulk create fills a cohort, and who wants the row alone may starve.
 */

/** First halves of the locks' keys; the second is the account. */
const CONSENT_LOCK = 0x636f_6e73;
const COHORT_LOCK = 0x636f_6800;
/** Cohorts share this many locks in an account, so that a transaction never holds more. */
const COHORT_LOCKS = 64;

type Mode = 'shared' | 'alone';

/**
 * Keeps apart what each alone would be right: adding many patients by their consent as it stands, and a patient that
 * ends its treatment relationship. The first go on beside each other (`shared`).
 */
export function lockConsent(tx: AccountTx, mode: Mode): Promise<void> {
  return take(tx, [CONSENT_LOCK], mode);
}

/** `shared` by who puts patients in or out one by one, `alone` by who changes the cohort or many of its patients. */
export function lockCohorts(tx: AccountTx, cohortIds: readonly string[], mode: Mode): Promise<void> {
  return take(tx, cohortIds.map(lockOf), mode);
}

/** The last digits of an id are random. */
const lockOf = (cohortId: string): number =>
  COHORT_LOCK + (Number.parseInt(cohortId.slice(-2), 16) % COHORT_LOCKS);

/** In the order of their numbers, in a statement of its own: the next one sees what the last holder left. */
async function take(tx: AccountTx, locks: readonly number[], mode: Mode): Promise<void> {
  const sorted = [...new Set(locks)].sort((left, right) => left - right);
  const lock = sql.raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
  await sql`
    select count(${lock}(lock, hashtext(${tx.accountId}))) from unnest(${sorted}::int[]) as locks (lock)
  `.execute(tx.db);
}
