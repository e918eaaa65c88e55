import type { Patient } from 'fhir/r4.js';
import { sql } from 'kysely';
import { agreesElsewhere } from '#person-matching';
import { sharedAmong } from '../../people/households/shared-values.ts';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';

const CANDIDATES = sqlFile('candidates.sql', import.meta.url);

export interface AccountCandidate extends Demographics {
  id: string;
  accountId: string;
  /**
   * The account has a notification of this subject for this patient, or has
   * recorded it, and the subject has not moved to somebody else since.
   */
  isLinked: boolean;
}

/**
 * Patients of all accounts that a message may be about: those with this birth
 * date and a primary address in one of these ZIP codes (five digits), and those
 * notified of the subject before. Oldest first.
 */
export async function findCandidates(
  tx: SystemTx,
  of: { subjectId: string; birthDate?: string; zips: readonly string[] },
): Promise<AccountCandidate[]> {
  const { rows } = await CANDIDATES<AccountCandidate>({
    birthDate: of.birthDate ?? null,
    zips: [...of.zips],
    subjectId: of.subjectId,
  }).execute(tx.db);
  return rows;
}

export interface SharingCandidate extends AccountCandidate {
  /** What the message and the patient have that is no household's. */
  shared?: ReadonlySet<string>;
}

/** The candidates with what many people of their accounts share. */
export async function withShared(
  tx: SystemTx,
  candidates: readonly AccountCandidate[],
  person: Patient | undefined,
): Promise<SharingCandidate[]> {
  if (person === undefined) return [...candidates];
  const sharing: SharingCandidate[] = [];
  for (const candidate of candidates) {
    // Another name or birth date needs no look-up.
    const shared = agreesElsewhere(candidate, person)
      ? await sharedAmong(tx, candidate.accountId, candidate, [person])
      : undefined;
    sharing.push({ ...candidate, shared });
  }
  return sharing;
}

/** The accounts that have notifications of a subject, or have recorded it. */
export async function notifiedAccounts(
  tx: SystemTx,
  subjectId: string,
): Promise<string[]> {
  const { rows } = await sql<{ accountId: string }>`
    select account_id as "accountId" from notification where subject_id = ${subjectId}
    union select account_id from recorded_subject where subject_id = ${subjectId} order by 1`.execute(
    tx.db,
  );
  return rows.map(({ accountId }) => accountId);
}

const FEATURES = {
  encounter: ['{monitoring,adt,enabled}'],
  pharmacy: ['{monitoring,pharmacy,notifications}'],
  laboratory: ['{monitoring,laboratory,notifications}'],
  clinical: [
    '{monitoring,adt,enabled}',
    '{monitoring,pharmacy,notifications}',
    '{monitoring,laboratory,notifications}',
  ],
} as const;

/**
 * Whether any cohort of the patient has notifications of this kind enabled; for
 * what is only recorded, of any kind.
 */
export async function isMonitored(
  tx: AccountTx,
  patientId: string,
  kind: keyof typeof FEATURES,
): Promise<boolean> {
  const { rows } = await sql<{ on: boolean }>`
    select exists (
      select from cohort_member m join cohort c on c.id = m.cohort_id
      cross join lateral unnest(${[...FEATURES[kind]]}::text[]) as feature
      where m.patient_id = ${patientId} and (c.settings #>> feature::text[])::boolean
    ) as "on"
  `.execute(tx.db);
  return rows[0]?.on === true;
}
