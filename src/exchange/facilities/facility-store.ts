import { type Selectable, sql } from 'kysely';
import type { Address } from '../patients/rules/demographics.ts';
import type { AccountTx } from '../platform/database/database.ts';
import type { Database } from '../platform/database/schema.ts';

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

/** What a change of a facility writes. */
export type FacilityContent = Pick<StoredFacility, 'name' | 'tin' | 'active' | 'address'>;

/** All of the account, or those of the ids; in the order in which they were created. */
export async function listFacilities(
  tx: AccountTx,
  filter: { ids?: readonly string[] } = {},
): Promise<StoredFacility[]> {
  let query = tx.db.selectFrom('facility').selectAll();
  if (filter.ids !== undefined) query = query.where('id', '=', sql<string>`any(${[...filter.ids]}::uuid[])`);
  const rows = await query.orderBy('created_at').orderBy('id').execute();
  return rows.map(toFacility);
}

export async function findFacility(tx: AccountTx, id: string): Promise<StoredFacility | undefined> {
  const row = await tx.db.selectFrom('facility').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toFacility(row);
}

/**
 * Holds the facility until the transaction ends: `changed` lets others refer to it meanwhile, `deleted` waits for all
 * who do, and keeps new ones out.
 */
export async function lockFacility(
  tx: AccountTx,
  id: string,
  toBe: 'changed' | 'deleted',
): Promise<StoredFacility | undefined> {
  const query = tx.db.selectFrom('facility').selectAll().where('id', '=', id);
  const row = await (toBe === 'deleted' ? query.forUpdate() : query.forNoKeyUpdate()).executeTakeFirst();
  return row && toFacility(row);
}

/** Those of the given facilities that exist; they do so until the transaction ends. */
export async function findFacilityIds(tx: AccountTx, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx.db
    .selectFrom('facility')
    .select('id')
    .where('id', '=', sql<string>`any(${[...ids]}::uuid[])`)
    // Two that hold several wait for each other in one order.
    .orderBy('id')
    .forKeyShare()
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** As `findFacilityIds`, for one. */
export async function facilityExists(tx: AccountTx, id: string): Promise<boolean> {
  return (await findFacilityIds(tx, [id])).size > 0;
}

/** Creates the facility; undefined when one of that id or NPI is there, which stays as it is. */
export async function insertFacility(
  tx: AccountTx,
  facility: Omit<StoredFacility, 'version' | 'active'> & { active?: boolean },
): Promise<StoredFacility | undefined> {
  const row = await tx.db
    .insertInto('facility')
    .values({ ...facility, account_id: tx.accountId, address: JSON.stringify(facility.address) })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  return row && toFacility(row);
}

/** Replaces the content and raises the version. */
export async function updateFacility(
  tx: AccountTx,
  id: string,
  content: FacilityContent,
): Promise<StoredFacility> {
  const row = await tx.db
    .updateTable('facility')
    .set({ ...content, address: JSON.stringify(content.address), version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toFacility(row);
}

/** The facility is held by `lockFacility`, and nothing refers to it. */
export async function deleteFacility(tx: AccountTx, id: string): Promise<void> {
  await tx.db.deleteFrom('facility').where('id', '=', id).execute();
}

/** What refers to a facility. */
export async function countFacilityUse(
  tx: AccountTx,
  id: string,
): Promise<{ patients: number; openBulkCreates: number }> {
  const [patients, openBulkCreates] = [
    await tx.db
      .selectFrom('patient')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where(sql<boolean>`facility_ids @> array[${id}::uuid]`)
      .executeTakeFirstOrThrow(),
    await tx.db
      .selectFrom('bulk_request')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('facility_id', '=', id)
      .where('status', 'in', ['waiting', 'processing'])
      .executeTakeFirstOrThrow(),
  ];
  return { patients: patients.count, openBulkCreates: openBulkCreates.count };
}

function toFacility(row: Selectable<Database['facility']>): StoredFacility {
  const { id, oid, name, npi, tin, active, address, version } = row;
  return { id, oid, name, npi, tin, active, address, version };
}
