import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import {
  type FhirPatient,
  householdOf,
  lastNameOf,
  traitsOfPatient,
  traitsOfPerson,
} from '#person-matching';
import type {
  AccountTx,
  Store,
  SystemTx,
} from '../../platform/database/database.ts';
import { byteaArray, uuidArray } from '../../platform/database/pg-arrays.ts';
import type { Demographics } from '../patients/rules/demographics.ts';

/** What so many last names of an account have is no household's. */
const LAST_NAMES_MAX = 5;

/**
 * Notes what these patients share with a household, in place of what was noted
 * before. (docs/decisions/0302-what-many-share-is-counted.md)
 */
export async function noteHouseholds(
  tx: SystemTx | AccountTx,
  patients: readonly (Demographics & { id: string; accountId: string })[],
): Promise<void> {
  const rows = patients.flatMap((patient) => {
    const traits = traitsOfPerson(patient);
    return householdOf(traits).map((value) => ({
      patientId: patient.id,
      accountId: patient.accountId,
      value: hashOf(value, VALUE_BYTES),
      lastName: hashOf(lastNameOf(traits), LAST_NAME_BYTES),
    }));
  });
  const ids = uuidArray(patients.map(({ id }) => id));
  await sql`delete from household_value where patient_id = any(${ids}::uuid[])`.execute(
    tx.db,
  );
  if (rows.length === 0) return;
  await sql`
    insert into household_value (patient_id, account_id, value, last_name)
    select * from unnest(
      ${uuidArray(rows.map(({ patientId }) => patientId))}::uuid[],
      ${uuidArray(rows.map(({ accountId }) => accountId))}::uuid[],
      ${byteaArray(rows.map(({ value }) => value))}::bytea[],
      ${byteaArray(rows.map(({ lastName }) => lastName))}::bytea[]
    )
    on conflict do nothing`.execute(tx.db);
}

/**
 * Which of these addresses, phone numbers and e-mail addresses (`householdOf`)
 * more last names of the account have than a household does.
 */
export async function sharedValues(
  tx: SystemTx | AccountTx,
  accountId: string,
  values: readonly string[],
): Promise<ReadonlySet<string>> {
  if (values.length === 0) return new Set();
  const distinct = [...new Set(values)];
  const { rows } = await sql<{ place: number }>`
    select place::integer from unnest(${hashesOf(distinct)}::bytea[]) with ordinality as given (value, place)
    where last_names_of(${accountId}::uuid, given.value, ${LAST_NAMES_MAX + 1}) > ${LAST_NAMES_MAX}`.execute(
    tx.db,
  );
  return new Set(rows.flatMap(({ place }) => distinct[place - 1] ?? []));
}

/** The same, of what a patient of ours and other descriptions have. */
export const sharedAmong = (
  tx: SystemTx | AccountTx,
  accountId: string,
  ours: Demographics,
  theirs: readonly FhirPatient[],
): Promise<ReadonlySet<string>> =>
  sharedValues(tx, accountId, valuesOf(ours, theirs));

/** The same outside of a transaction. */
export async function callSharedAmong(
  store: Pick<Store, 'callAsAccount'>,
  accountId: string,
  ours: Demographics,
  theirs: readonly FhirPatient[],
): Promise<ReadonlySet<string>> {
  const distinct = [...new Set(valuesOf(ours, theirs))];
  if (distinct.length === 0) return new Set();
  const rows = await store.callAsAccount(
    accountId,
    sql<{ place: number }>`
      select place from places_of_shared(${accountId}, ${hashesOf(distinct)}::bytea[], ${LAST_NAMES_MAX}) as place`,
  );
  return new Set(rows.flatMap(({ place }) => distinct[place - 1] ?? []));
}

const valuesOf = (
  ours: Demographics,
  theirs: readonly FhirPatient[],
): string[] => [
  ...householdOf(traitsOfPerson(ours)),
  ...theirs.flatMap((each) => householdOf(traitsOfPatient(each))),
];

const VALUE_BYTES = 16;
const LAST_NAME_BYTES = 8;

const hashesOf = (values: readonly string[]): Buffer =>
  byteaArray(values.map((value) => hashOf(value, VALUE_BYTES)));

/** As Latin-1 text. */
const hashOf = (text: string, bytes: number): string =>
  createHash('sha256').update(text).digest().toString('latin1', 0, bytes);
