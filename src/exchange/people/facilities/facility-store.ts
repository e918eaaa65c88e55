import { type Selectable, sql } from 'kysely';
import { type Members, membersOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';

/** A facility where patients receive care. */
export type StoredFacility = Omit<
  Members<'facility'>,
  'accountId' | 'createdAt'
>;

/** The members of a facility that a change can write. */
export type FacilityContent = Pick<
  StoredFacility,
  'name' | 'tin' | 'active' | 'address'
>;

/**
 * All facilities of the account, or those with the given ids, in order of
 * creation.
 */
export async function listFacilities(
  tx: AccountTx,
  filter: { ids?: readonly string[] } = {},
): Promise<StoredFacility[]> {
  let query = tx.db.selectFrom('facility').selectAll();
  if (filter.ids !== undefined)
    query = query.where(
      'id',
      '=',
      sql<string>`any(${[...filter.ids]}::uuid[])`,
    );
  const rows = await query.orderBy('created_at').orderBy('id').execute();
  return rows.map(toFacility);
}

export async function findFacility(
  tx: AccountTx,
  id: string,
): Promise<StoredFacility | undefined> {
  const row = await tx.db
    .selectFrom('facility')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  return row && toFacility(row);
}

/**
 * Locks the facility until the transaction ends. `changed` allows concurrent
 * transactions to refer to it; `deleted` waits for them and excludes new ones.
 */
export async function lockFacility(
  tx: AccountTx,
  id: string,
  toBe: 'changed' | 'deleted',
): Promise<StoredFacility | undefined> {
  const query = tx.db.selectFrom('facility').selectAll().where('id', '=', id);
  const row = await (toBe === 'deleted'
    ? query.forUpdate()
    : query.forNoKeyUpdate()
  ).executeTakeFirst();
  return row && toFacility(row);
}

/**
 * Returns those of the given ids that exist, and locks them so that they cannot
 * be deleted until the transaction ends.
 */
export async function findFacilityIds(
  tx: AccountTx,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx.db
    .selectFrom('facility')
    .select('id')
    .where('id', '=', sql<string>`any(${[...ids]}::uuid[])`)
    // Always locked in the same order, to avoid deadlocks.
    .orderBy('id')
    .forKeyShare()
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Like `findFacilityIds`, for a single facility. */
export async function facilityExists(
  tx: AccountTx,
  id: string,
): Promise<boolean> {
  return (await findFacilityIds(tx, [id])).size > 0;
}

/**
 * Inserts a facility. Returns undefined, without a change, if the account has
 * one with this id or NPI.
 */
export async function insertFacility(
  tx: AccountTx,
  facility: Omit<StoredFacility, 'version' | 'active'> & { active?: boolean },
): Promise<StoredFacility | undefined> {
  const row = await tx.db
    .insertInto('facility')
    .values({
      ...facility,
      account_id: tx.accountId,
      address: JSON.stringify(facility.address),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  return row && toFacility(row);
}

/** Replaces the content and increases the version. */
export async function updateFacility(
  tx: AccountTx,
  id: string,
  content: FacilityContent,
): Promise<StoredFacility> {
  const row = await tx.db
    .updateTable('facility')
    .set({
      ...content,
      address: JSON.stringify(content.address),
      version: sql<number>`version + 1`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toFacility(row);
}

/**
 * Deletes an unused facility, which the caller has locked with `lockFacility`.
 */
export async function deleteFacility(tx: AccountTx, id: string): Promise<void> {
  await tx.db.deleteFrom('facility').where('id', '=', id).execute();
}

/** Counts the patients and open bulk creates that refer to a facility. */
export async function countFacilityUse(
  tx: AccountTx,
  id: string,
): Promise<{ patients: number; openBulkCreates: number }> {
  const patients = await tx.db
    .selectFrom('patient')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(sql<boolean>`facility_ids @> array[${id}::uuid]`)
    .executeTakeFirstOrThrow();
  const openBulkCreates = await tx.db
    .selectFrom('bulk_request')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('facility_id', '=', id)
    .where('status', 'in', ['waiting', 'processing'])
    .executeTakeFirstOrThrow();
  return { patients: patients.count, openBulkCreates: openBulkCreates.count };
}

function toFacility(row: Selectable<Database['facility']>): StoredFacility {
  const { account_id: _account, created_at: _created, ...own } = row;
  return membersOf(own);
}
