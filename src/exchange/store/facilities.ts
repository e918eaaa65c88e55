import { type Selectable, sql } from 'kysely';
import type { Address } from '../domain/demographics.ts';
import type { AccountTx } from './database.ts';
import type { Database } from './schema.ts';

/** Where patients receive care. */
export interface StoredFacility {
  id: string;
  oid: string;
  name: string;
  /** Passes the Luhn check. */
  npi: string;
  tin: string | null;
  active: boolean;
  address: Address;
  version: number;
}

export async function listFacilities(tx: AccountTx): Promise<StoredFacility[]> {
  const rows = await tx.db.selectFrom('facility').selectAll().orderBy('created_at').orderBy('id').execute();
  return rows.map(toFacility);
}

/** Those of the given facilities that exist. */
export async function findFacilityIds(tx: AccountTx, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx.db
    .selectFrom('facility')
    .select('id')
    .where('id', '=', sql<string>`any(${[...ids]}::uuid[])`)
    .execute();
  return new Set(rows.map(({ id }) => id));
}

export async function facilityExists(tx: AccountTx, id: string): Promise<boolean> {
  const row = await tx.db.selectFrom('facility').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}

/** Creates the facility, or leaves one of that id or NPI as it is. */
export async function insertFacility(
  tx: AccountTx,
  facility: Omit<StoredFacility, 'version' | 'active'>,
): Promise<void> {
  await tx.db
    .insertInto('facility')
    .values({ ...facility, account_id: tx.accountId, address: JSON.stringify(facility.address) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

function toFacility(row: Selectable<Database['facility']>): StoredFacility {
  const { id, oid, name, npi, tin, active, address, version } = row;
  return { id, oid, name, npi, tin, active, address, version };
}
