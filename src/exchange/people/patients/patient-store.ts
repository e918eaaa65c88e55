import {
  type AliasedRawBuilder,
  type RawBuilder,
  type Selectable,
  sql,
} from 'kysely';
import { PATIENT_SORT } from '../../../contract/patients.ts';
import { columnsOf, membersOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type CountedPage,
  newestFirst,
  type PageRequest,
  readCountedPage,
} from '../../platform/database/page.ts';
import { OvertakenError } from '../../platform/database/retry.ts';
import type { Database } from '../../platform/database/schema.ts';
import { identityKeys } from './rules/identity-keys.ts';
import type { PatientContent } from './rules/patient-content.ts';

/** A patient as stored. */
export interface StoredPatient extends PatientContent {
  id: string;
  version: number;
  createdAt: Date;
}

export async function findPatient(
  tx: AccountTx,
  id: string,
): Promise<StoredPatient | undefined> {
  const row = await tx.db
    .selectFrom('patient')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  return row && toPatient(row);
}

/**
 * External ids are not unique; returns the newest patient who has it now, else
 * the newest who had it.
 */
export async function findNewestByExternalId(
  tx: AccountTx,
  externalId: string,
): Promise<StoredPatient | undefined> {
  const row = await tx.db
    .selectFrom('patient')
    .selectAll()
    .where(hasExternalId(externalId))
    .orderBy(sql`external_id = ${externalId}`, (order) =>
      order.desc().nullsLast(),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toPatient(row);
}

/**
 * Whether a patient has this external id, or had it. A function finds the
 * former ones: see migration 0183.
 */
export const hasExternalId = (externalId: string): RawBuilder<boolean> =>
  sql<boolean>`patient.id in (select id from patient where external_id = ${externalId}
    union all select patients_formerly_known_as(${externalId}))`;

/** Returns those of the patients that exist, in the order of `ids`. */
export async function findPatients(
  tx: AccountTx,
  ids: readonly string[],
): Promise<StoredPatient[]> {
  const rows = await tx.db
    .selectFrom('patient')
    .selectAll()
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute();
  const byId = new Map(rows.map((row) => [row.id, toPatient(row)]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/**
 * Reads a patient and locks it until the transaction ends. Concurrent
 * transactions can still insert rows that refer to the patient (new members of
 * a cohort, see cohort-store.ts).
 */
export async function lockPatient(
  tx: AccountTx,
  id: string,
): Promise<StoredPatient | undefined> {
  const row = await tx.db
    .selectFrom('patient')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row && toPatient(row);
}

/**
 * Ids of the patients that have any of the identity keys, oldest first, and the
 * number of the keys that they have.
 */
export async function findByIdentityKeys(
  tx: AccountTx,
  keys: readonly Buffer[],
): Promise<{ ids: string[]; held: number }> {
  if (keys.length === 0) return { ids: [], held: 0 };
  const rows = await tx.db
    .selectFrom((sub) =>
      sub
        .selectFrom('patient_identity_key')
        .select(['patient_id', sql<number>`count(*)::integer`.as('keys')])
        .where('account_id', '=', tx.accountId)
        .where('key', 'in', keys)
        .groupBy('patient_id')
        .as('holder'),
    )
    .innerJoin('patient', 'patient.id', 'holder.patient_id')
    .select(['patient.id', 'holder.keys'])
    .orderBy('patient.created_at')
    .orderBy('patient.id')
    .execute();
  return {
    ids: rows.map(({ id }) => id),
    held: rows.reduce((sum, row) => sum + row.keys, 0),
  };
}

/**
 * Everybody who is described by one of these identity keys: who holds it, and
 * who is kept apart from the holder by another SSN or driver's licence. All
 * keys are of this date of birth and gender.
 */
export async function findNamesakes(
  tx: AccountTx,
  hmacKey: string,
  { dob, gender }: Pick<PatientContent, 'dob' | 'gender'>,
  keys: readonly Buffer[],
): Promise<StoredPatient[]> {
  if ((await findByIdentityKeys(tx, keys)).held === 0) return [];
  const born = tx.db
    .selectFrom('patient')
    .selectAll()
    .where('account_id', '=', tx.accountId);
  const rows = await born
    .where('dob', '=', dob)
    .where('gender', '=', gender)
    .execute();
  return rows
    .map(toPatient)
    .filter((each) =>
      identityKeys(hmacKey, tx.accountId, each).some((own) =>
        keys.some((key) => own.equals(key)),
      ),
    );
}

/**
 * Inserts the patient with those of the keys that no other patient has. @param
 * held the number of keys that others have
 */
export async function insertPatient(
  tx: AccountTx,
  id: string,
  content: PatientContent,
  keys: readonly Buffer[],
  held = 0,
): Promise<StoredPatient> {
  const row = await tx.db
    .insertInto('patient')
    .values({ id, account_id: tx.accountId, ...toColumns(content) })
    .returningAll()
    .executeTakeFirstOrThrow();
  const taken = await claimKeys(tx, id, keys);
  if (taken !== keys.length - held)
    throw new OvertakenError(
      'an identity key of this person was claimed concurrently',
    );
  return toPatient(row);
}

/** Replaces the content and increases the version. */
export async function updatePatient(
  tx: AccountTx,
  id: string,
  content: PatientContent,
): Promise<StoredPatient> {
  const row = await tx.db
    .updateTable('patient')
    .set({
      ...toColumns(content),
      version: sql<number>`version + 1`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toPatient(row);
}

/**
 * Gives the patient those of the keys that no patient has, and returns their
 * number. Waits for concurrent transactions that are claiming or releasing one
 * of the keys.
 */
export async function claimKeys(
  tx: AccountTx,
  patientId: string,
  keys: readonly Buffer[],
): Promise<number> {
  if (keys.length === 0) return 0;
  const rows = await tx.db
    .insertInto('patient_identity_key')
    .values(
      [...keys].sort(Buffer.compare).map((key) => ({
        account_id: tx.accountId,
        key,
        patient_id: patientId,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'key']).doNothing(),
    )
    .returning('key')
    .execute();
  return rows.length;
}

/** Releases every key of the patient that is not in `keep`. */
export async function releaseOtherKeys(
  tx: AccountTx,
  patientId: string,
  keep: readonly Buffer[],
): Promise<void> {
  const held = tx.db
    .deleteFrom('patient_identity_key')
    .where('patient_id', '=', patientId);
  await (keep.length === 0
    ? held
    : held.where('key', 'not in', keep)
  ).execute();
}

/** Lists and objects are JSON; every other member is a column as it is. */
const toColumns = (content: PatientContent) =>
  columnsOf({
    ...content,
    formerExternalIds: JSON.stringify(content.formerExternalIds),
    addresses: JSON.stringify(content.addresses),
    contacts: JSON.stringify(content.contacts),
    personalIdentifiers: JSON.stringify(content.personalIdentifiers),
    additionalIdentifiers: JSON.stringify(content.additionalIdentifiers),
  });

export function toPatient(row: Selectable<Database['patient']>): StoredPatient {
  const { account_id: _account, updated_at: _updated, ...own } = row;
  return membersOf(own);
}

/** The caller's own id of a patient, for webhooks. */
export async function readExternalId(
  tx: AccountTx,
  patientId: string,
): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom('patient')
    .select('external_id')
    .where('id', '=', patientId)
    .executeTakeFirst();
  return row?.external_id ?? undefined;
}

/**
 * The column `external_id` for rows that refer to a patient, read in the same
 * statement; also in `returning`.
 */
export const externalIdOf = (
  patientIdColumn: string,
): AliasedRawBuilder<string | null, 'external_id'> =>
  sql<
    string | null
  >`(select p.external_id from patient as p where p.id = ${sql.ref(patientIdColumn)})`.as(
    'external_id',
  );

export const PATIENT_ORDER = newestFirst(
  PATIENT_SORT,
  'patient.created_at',
  'patient.id',
);

/**
 * Whether a word looks the same in JSON and PostgreSQL arrays, which escape
 * quotes and backslashes.
 */
const isPlain = (word: string): boolean => !/["\\]/.test(word);

/**
 * A case-insensitive regular expression for a word; PostgreSQL's own case
 * folding may cover only ASCII.
 */
export const expressionOf = (word: string): string =>
  [...word.normalize('NFC')]
    .map((letter) => [
      ...new Set([letter, letter.toLowerCase(), letter.toUpperCase()]),
    ])
    .map(
      (cases) =>
        `(?:${cases.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`,
    )
    .join('');

/**
 * A page of the account's patients that match the filter, and the total number
 * of matches.
 */
export async function listPatients(
  tx: AccountTx,
  filter: {
    facilityId?: string;
    externalId?: string;
    /** Words that must all occur. */
    words?: readonly string[];
  },
  request: PageRequest,
): Promise<CountedPage<StoredPatient>> {
  let matching = tx.db.selectFrom('patient');
  if (filter.externalId !== undefined)
    matching = matching.where(hasExternalId(filter.externalId));
  if (filter.facilityId !== undefined) {
    matching = matching.where(
      sql<boolean>`facility_ids @> array[${filter.facilityId}::uuid]`,
    );
  }
  if (filter.words !== undefined && filter.words.length > 0) {
    const all = filter.words.map(expressionOf);
    const plain = filter.words.filter(isPlain).map(expressionOf);
    const found = sql`select patients_with_words(${all}::text[], ${plain}::text[])`;
    matching = matching.where(sql<boolean>`patient.id in (${found})`);
  }
  const page = await readCountedPage(
    tx.db,
    matching.selectAll('patient'),
    PATIENT_ORDER,
    request,
  );
  return { ...page, items: page.items.map(toPatient) };
}
