import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../platform/database/columns.ts';
import type {
  AccountTx,
  Store,
  SystemTx,
} from '../../platform/database/database.ts';

export type StoredMembership = Members<'network_membership'>;

type Tx = Pick<SystemTx, 'db'>;

/** The memberships of one account, or of all, by account and name. */
export async function listMemberships(
  tx: Tx,
  accountId?: string,
): Promise<StoredMembership[]> {
  const all = tx.db
    .selectFrom('network_membership')
    .selectAll()
    .orderBy('account_id')
    .orderBy('name');
  const rows = await (accountId === undefined
    ? all
    : all.where('account_id', '=', accountId)
  ).execute();
  return rows.map(membersOf);
}

export async function findMembership(
  tx: Tx,
  id: string,
): Promise<StoredMembership | undefined> {
  const row = await tx.db
    .selectFrom('network_membership')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  return row && membersOf(row);
}

export async function insertMembership(
  tx: SystemTx,
  {
    settings,
    ...membership
  }: Omit<StoredMembership, 'createdAt' | 'changedAt'>,
): Promise<void> {
  await tx.db
    .insertInto('network_membership')
    .values(columnsOf({ ...membership, settings: JSON.stringify(settings) }))
    .execute();
}

export async function updateMembership(
  tx: SystemTx,
  id: string,
  {
    settings,
    ...change
  }: Partial<Pick<StoredMembership, 'enabled' | 'trusted' | 'settings'>>,
): Promise<void> {
  await tx.db
    .updateTable('network_membership')
    .set({
      ...columnsOf(change),
      ...(settings === undefined ? {} : { settings: JSON.stringify(settings) }),
      changed_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .execute();
}

export async function deleteMembership(
  tx: SystemTx,
  id: string,
): Promise<void> {
  await tx.db.deleteFrom('network_membership').where('id', '=', id).execute();
}

/**
 * Remembers a message by each of these texts until it has ended. False when one
 * of them was here before.
 */
export function rememberMessage(
  store: Pick<Store, 'asAccount'>,
  { id, accountId }: Pick<StoredMembership, 'id' | 'accountId'>,
  texts: readonly string[],
  endsAt: Date,
): Promise<boolean> {
  const rows = texts.map((text) => ({
    membership_id: id,
    account_id: accountId,
    key: createHash('sha256').update(text).digest(),
    ends_at: endsAt,
  }));
  return store.asAccount(accountId, async (tx: AccountTx) => {
    const { numInsertedOrUpdatedRows = 0n } = await tx.db
      .insertInto('network_message')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['membership_id', 'key']).doNothing(),
      )
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === BigInt(rows.length);
  });
}

/** @returns number of deleted rows */
export async function forgetEndedMessages(
  tx: SystemTx,
  limit: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from network_message where ctid = any (array(
      select ctid from network_message where ends_at < now() order by ends_at limit ${limit}))`.execute(
    tx.db,
  );
  return Number(numAffectedRows ?? 0);
}
