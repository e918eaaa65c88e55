import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';
import { byteaArray, integerArray, uuidArray } from '../../platform/database/pg-arrays.ts';
import type { PersonalIdentifier } from '../patients/rules/demographics.ts';
import type { KeyHolder } from './patient-store.ts';

/** The person that would hold a key if a dry run had written its rows. */
export interface TrialKeyHolder extends KeyHolder {
  /** The row that would have created the person; null for a patient of the account. */
  firstRow: number | null;
}

export async function findTrialKeyHolders(
  tx: AccountTx,
  requestId: string,
  keys: readonly string[],
): Promise<TrialKeyHolder[]> {
  const { rows } = await sql<{ place: number; person_id: string; first_row: number | null }>`
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

/** The SSNs and licences that earlier chunks of a dry run would have given to these persons. */
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
  persons: ReadonlyArray<{ id: string; identifiers: readonly PersonalIdentifier[] }>,
): Promise<void> {
  const rows = persons
    .filter(({ identifiers }) => identifiers.length > 0)
    .map(({ id, identifiers }) => ({
      ...{ request_id: requestId, account_id: tx.accountId, person_id: id },
      identifiers: JSON.stringify(identifiers),
    }));
  if (rows.length > 0) await tx.db.insertInto('bulk_trial_identifier').values(rows).execute();
}

export async function deleteTrialKeys(tx: AccountTx, requestId: string): Promise<void> {
  await tx.db.deleteFrom('bulk_trial_identifier').where('request_id', '=', requestId).execute();
  await tx.db.deleteFrom('bulk_trial_key').where('request_id', '=', requestId).execute();
}
