import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  booleanArray,
  byteaArray,
  integerArray,
  textArray,
  uuidArray,
} from '../../platform/database/pg-arrays.ts';
import { OvertakenError } from '../../platform/database/retry.ts';
import { type StoredPatient, toPatient } from '../patients/patient-store.ts';
import type { PersonalIdentifier } from '../patients/rules/demographics.ts';
import type { PatientContent } from '../patients/rules/patient-content.ts';

/*
 * Saves the patients of a whole chunk, one statement for each step. The locks
 * and their order are those of registration/save-patient.ts, which saves one
 * patient.
 */

export interface KeyHolder {
  /**
   * An identity key, its bytes as Latin-1 text: strings are fast to compare and
   * to look up.
   */
  key: string;
  personId: string;
}

/** The patients that hold these keys. */
export async function findKeyHolders(
  tx: AccountTx,
  keys: readonly string[],
): Promise<KeyHolder[]> {
  // The lateral join forces an index lookup for each key: the statistics of a
  // table that has just grown mislead the planner.
  const { rows } = await sql<{ place: number; person_id: string }>`
    select wanted.place, held.patient_id as person_id
    from unnest(${byteaArray(keys)}::bytea[]) with ordinality as wanted (key, place)
    cross join lateral (
      select patient_id from patient_identity_key
      where account_id = ${tx.accountId} and key = wanted.key offset 0
    ) as held
  `.execute(tx.db);
  return rows.map(({ place, person_id }) => ({
    key: keys[place - 1] as string,
    personId: person_id,
  }));
}

/**
 * `lock`: lock the rows until the transaction ends. `lock-nowait`: the same,
 * but fail with OvertakenError when another transaction holds one of them.
 * `read`: take no locks.
 */
export type ReadMode = 'lock' | 'lock-nowait' | 'read';

/**
 * The patients, oldest first. Throws OvertakenError when one of them was
 * deleted.
 */
export async function readImportedPatients(
  tx: AccountTx,
  ids: readonly string[],
  mode: ReadMode,
): Promise<StoredPatient[]> {
  if (ids.length === 0) return [];
  const query = tx.db
    .selectFrom('patient')
    .selectAll()
    // In microseconds; a JavaScript Date has only milliseconds.
    .select(
      sql<number>`(extract(epoch from created_at) * 1000000)::bigint`.as(
        'created_us',
      ),
    )
    .where('id', '=', sql<string>`any(${uuidArray(ids)}::uuid[])`)
    .orderBy('id');
  const locking =
    mode === 'lock-nowait'
      ? query.forNoKeyUpdate().noWait()
      : query.forNoKeyUpdate();
  const rows = await (mode === 'read' ? query : locking).execute();
  if (rows.length < ids.length)
    throw new OvertakenError('a matching patient was deleted meanwhile');
  return rows
    .sort(
      (left, right) =>
        left.created_us - right.created_us || (left.id < right.id ? -1 : 1),
    )
    .map(toPatient);
}

export interface IdentifiedContent {
  id: string;
  content: PatientContent;
}

export async function insertPatients(
  tx: AccountTx,
  patients: readonly IdentifiedContent[],
): Promise<void> {
  if (patients.length === 0) return;
  await sql`
    insert into patient (account_id, id, ${CONTENT_COLUMNS})
    select ${tx.accountId}, id, ${CONTENT_VALUES} from ${contentRows(patients)}
  `.execute(tx.db);
}

/** Replaces the patients' content and increments their versions. */
export async function updatePatients(
  tx: AccountTx,
  patients: readonly IdentifiedContent[],
): Promise<void> {
  if (patients.length === 0) return;
  await sql`
    update patient set (${CONTENT_COLUMNS}) = row (${CONTENT_VALUES}), version = version + 1, updated_at = now()
    from ${contentRows(patients)} where patient.id = given.id
  `.execute(tx.db);
}

/**
 * Inserts new identity keys of patients, in key order, so that two chunks never
 * deadlock. Returns false when a patient holds one of them already; none is
 * inserted then. Waits for transactions that are inserting one.
 */
export async function insertKeys(
  tx: AccountTx,
  claims: readonly KeyHolder[],
): Promise<boolean> {
  if (claims.length === 0) return true;
  // Without ON CONFLICT, with which PostgreSQL locks, inserts and confirms each
  // row in turn: half the work.
  await sql`savepoint before_keys`.execute(tx.db);
  try {
    await sql`
      insert into patient_identity_key (account_id, key, patient_id)
      select ${tx.accountId}, key, patient_id from ${claimRows(claims)}
    `.execute(tx.db);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    await sql`rollback to savepoint before_keys`.execute(tx.db);
    return false;
  }
  await sql`release savepoint before_keys`.execute(tx.db);
  return true;
}

const isUniqueViolation = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === '23505';

/**
 * Like `insertKeys`, but inserts the rest when another transaction has inserted
 * some of them first, and then returns false.
 */
export async function claimNewKeys(
  tx: AccountTx,
  claims: readonly KeyHolder[],
): Promise<boolean> {
  if (await insertKeys(tx, claims)) return true;
  const { numAffectedRows } = await sql`
    insert into patient_identity_key (account_id, key, patient_id)
    select ${tx.accountId}, key, patient_id from ${claimRows(claims)}
    on conflict do nothing
  `.execute(tx.db);
  return Number(numAffectedRows) === claims.length;
}

/**
 * Undoes `claimNewKeys`. Until the transaction ends, other transactions that
 * insert one of these keys still wait for it.
 */
export async function releaseKeys(
  tx: AccountTx,
  claims: readonly KeyHolder[],
): Promise<void> {
  await sql`
    delete from patient_identity_key held using ${claimRows(claims)}
    where held.account_id = ${tx.accountId} and held.key = claim.key and held.patient_id = claim.patient_id
  `.execute(tx.db);
}

function claimRows(claims: readonly KeyHolder[]) {
  const sorted = [...claims].sort((left, right) =>
    left.key < right.key ? -1 : 1,
  );
  return sql`unnest(
    ${byteaArray(sorted.map(({ key }) => key))}::bytea[],
    ${uuidArray(sorted.map(({ personId }) => personId))}::uuid[]
  ) as claim (key, patient_id)`;
}

/** Adds patients to cohorts. Memberships that exist are skipped. */
export async function addAllMemberships(
  tx: AccountTx,
  members: readonly { cohortId: string; patientId: string }[],
): Promise<void> {
  if (members.length === 0) return;
  await sql`
    insert into cohort_member (account_id, cohort_id, patient_id)
    select ${tx.accountId}, cohort_id, patient_id
    from unnest(
      ${uuidArray(members.map(({ cohortId }) => cohortId))}::uuid[],
      ${uuidArray(members.map(({ patientId }) => patientId))}::uuid[]
    ) as member (cohort_id, patient_id)
    on conflict do nothing
  `.execute(tx.db);
}

export interface BulkPatient {
  patientId: string;
  /** The first row of this chunk about the patient. */
  firstRow: number;
  /** The chunk creates the patient. */
  isNew: boolean;
}

/**
 * Records the patients that the request created or updated. For a patient of
 * several chunks, the first row stays.
 */
export async function recordBulkPatients(
  tx: AccountTx,
  requestId: string,
  patients: readonly BulkPatient[],
): Promise<void> {
  // A new patient cannot have been recorded before, and without ON CONFLICT an
  // insert takes half the time.
  const record = async (some: readonly BulkPatient[], unless = sql``) => {
    if (some.length === 0) return;
    await sql`
      insert into bulk_patient (request_id, account_id, patient_id, first_row)
      select ${requestId}, ${tx.accountId}, patient_id, first_row
      from unnest(
        ${uuidArray(some.map(({ patientId }) => patientId))}::uuid[],
        ${integerArray(some.map(({ firstRow }) => firstRow))}::integer[]
      ) as patient (patient_id, first_row)
      ${unless}
    `.execute(tx.db);
  };
  await record(patients.filter(({ isNew }) => isNew));
  await record(
    patients.filter(({ isNew }) => !isNew),
    sql`on conflict do nothing`,
  );
}

/**
 * Without additional_identifiers: a file has no column for them, so rows never
 * change them.
 */
const CONTENT =
  'external_id, former_external_ids, first_names, last_names, dob, gender, addresses, contacts, personal_identifiers, facility_ids, hie_opt_out, treatment_relationship';
const CONTENT_COLUMNS = sql.raw(CONTENT);
const CONTENT_VALUES = sql.raw(CONTENT.replaceAll(/\w+/g, 'given.$&'));

/**
 * The patients as parameters of one statement. A name contains no spaces, so a
 * list of names is passed as one text.
 */
function contentRows(patients: readonly IdentifiedContent[]) {
  const all = <T>(part: (content: PatientContent) => T): T[] =>
    patients.map(({ content }) => part(content));
  // As one value: PostgreSQL takes 2 µs to begin reading each jsonb, however
  // small.
  const listsOf = (part: (content: PatientContent) => unknown[]) =>
    sql`jsonb_array_elements(${JSON.stringify(all(part))}::jsonb)`;
  return sql`(select
    unnest(${uuidArray(patients.map(({ id }) => id))}::uuid[]) as id,
    unnest(${textArray(all(({ externalId }) => externalId))}::text[]) as external_id,
    ${listsOf(({ formerExternalIds }) => formerExternalIds)} as former_external_ids,
    string_to_array(unnest(${textArray(all(({ firstNames }) => firstNames.join(' ')))}::text[]), ' ') as first_names,
    string_to_array(unnest(${textArray(all(({ lastNames }) => lastNames.join(' ')))}::text[]), ' ') as last_names,
    unnest(${textArray(all(({ dob }) => dob))}::text[])::date as dob,
    unnest(${textArray(all(({ gender }) => gender))}::text[]) as gender,
    ${listsOf(({ addresses }) => addresses)} as addresses,
    ${listsOf(({ contacts }) => contacts)} as contacts,
    ${listsOf(({ personalIdentifiers }) => personalIdentifiers)} as personal_identifiers,
    string_to_array(unnest(${textArray(all(({ facilityIds }) => facilityIds.join(' ')))}::text[]), ' ')::uuid[] as facility_ids,
    unnest(${booleanArray(all(({ hieOptOut }) => hieOptOut))}::boolean[]) as hie_opt_out,
    unnest(${booleanArray(all(({ treatmentRelationship }) => treatmentRelationship))}::boolean[]) as treatment_relationship
  ) as given`;
}

/** The person that would hold a key if a dry run had written its rows. */
/**
 * Who had one of these external ids before the request was made: earlier rows
 * of its file are not told, because chunks run side by side.
 */
export async function findExternalIdHolders(
  tx: AccountTx,
  requestId: string,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (externalIds.length === 0) return new Map();
  const { rows } = await sql<{ externalId: string; ids: string[] }>`
    select external_id as "externalId", array_agg(id order by created_at, id) as ids from patient
    where external_id = any(${textArray(externalIds)}::text[])
      and created_at < (select created_at from bulk_request where id = ${requestId})
    group by external_id`.execute(tx.db);
  return new Map(rows.map(({ externalId, ids }) => [externalId, ids]));
}

interface TrialKeyHolder extends KeyHolder {
  /**
   * The row that would have created the person; null for a patient of the
   * account.
   */
  firstRow: number | null;
}

export async function findTrialKeyHolders(
  tx: AccountTx,
  requestId: string,
  keys: readonly string[],
): Promise<TrialKeyHolder[]> {
  const { rows } = await sql<{
    place: number;
    person_id: string;
    first_row: number | null;
  }>`
    select wanted.place, held.person_id, held.first_row
    from unnest(${byteaArray(keys)}::bytea[]) with ordinality as wanted (key, place)
    cross join lateral (
      select person_id, first_row from bulk_trial_key
      where request_id = ${requestId} and key = wanted.key offset 0
    ) as held
  `.execute(tx.db);
  return rows.map(({ place, person_id, first_row }) => ({
    key: keys[place - 1] as string,
    personId: person_id,
    firstRow: first_row,
  }));
}

export async function insertTrialKeys(
  tx: AccountTx,
  requestId: string,
  claims: readonly TrialKeyHolder[],
): Promise<void> {
  if (claims.length === 0) return;
  await sql`
    insert into bulk_trial_key (request_id, account_id, key, person_id, first_row)
    select ${requestId}, ${tx.accountId}, key, person_id, nullif(first_row, 0)
    from unnest(
      ${byteaArray(claims.map(({ key }) => key))}::bytea[],
      ${uuidArray(claims.map(({ personId }) => personId))}::uuid[],
      ${integerArray(claims.map(({ firstRow }) => firstRow ?? 0))}::integer[]
    ) as claim (key, person_id, first_row)
  `.execute(tx.db);
}

/**
 * The SSNs and licences that earlier chunks of a dry run would have given to
 * these persons.
 */
export async function findTrialIdentifiers(
  tx: AccountTx,
  requestId: string,
  personIds: readonly string[],
): Promise<Map<string, PersonalIdentifier[]>> {
  const rows = await tx.db
    .selectFrom('bulk_trial_identifier')
    .select(['person_id', 'identifiers'])
    .where('request_id', '=', requestId)
    .where('person_id', '=', sql<string>`any(${uuidArray(personIds)}::uuid[])`)
    .execute();
  const found = new Map<string, PersonalIdentifier[]>();
  for (const { person_id, identifiers } of rows)
    found.set(person_id, [...(found.get(person_id) ?? []), ...identifiers]);
  return found;
}

export async function insertTrialIdentifiers(
  tx: AccountTx,
  requestId: string,
  persons: ReadonlyArray<{
    id: string;
    identifiers: readonly PersonalIdentifier[];
  }>,
): Promise<void> {
  const rows = persons
    .filter(({ identifiers }) => identifiers.length > 0)
    .map(({ id, identifiers }) => ({
      request_id: requestId,
      account_id: tx.accountId,
      person_id: id,
      identifiers: JSON.stringify(identifiers),
    }));
  if (rows.length > 0)
    await tx.db.insertInto('bulk_trial_identifier').values(rows).execute();
}

export async function deleteTrialKeys(
  tx: AccountTx,
  requestId: string,
): Promise<void> {
  await tx.db
    .deleteFrom('bulk_trial_identifier')
    .where('request_id', '=', requestId)
    .execute();
  await tx.db
    .deleteFrom('bulk_trial_key')
    .where('request_id', '=', requestId)
    .execute();
}
