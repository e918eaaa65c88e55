import { sql } from 'kysely';
import type {
  Account,
  AccountSettings,
  Dialect,
} from '../../platform/account.ts';
import {
  type SystemTx,
  takeAdminRole,
} from '../../platform/database/database.ts';

export async function findAccount(
  tx: Pick<SystemTx, 'db'>,
  accountId: string,
): Promise<Account | undefined> {
  return tx.db
    .selectFrom('account')
    .select(['id', 'dialect', 'settings'])
    .where('id', '=', accountId)
    .executeTakeFirst();
}

/** The accounts that exist among these, by id. */
export async function findAccounts(
  tx: Pick<SystemTx, 'db'>,
  ids: readonly string[],
): Promise<Map<string, Account>> {
  const accounts = await tx.db
    .selectFrom('account')
    .select(['id', 'dialect', 'settings'])
    .where('id', '=', sql<string>`any(${[...ids]}::uuid[])`)
    .execute();
  return new Map(accounts.map((account) => [account.id, account]));
}

/**
 * Creates the account; an account that already has this id is left unchanged.
 */
export async function insertAccount(
  tx: SystemTx,
  account: {
    id: string;
    name: string;
    dialect?: Dialect;
    settings: AccountSettings;
  },
): Promise<void> {
  await takeAdminRole(tx);
  await tx.db
    .insertInto('account')
    .values({ ...account, settings: JSON.stringify(account.settings) })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/** All accounts as listed for operators, in order of creation. */
export const listAccounts = (tx: SystemTx) =>
  tx.db
    .selectFrom('account')
    .select(['id', 'name', 'dialect', 'settings', 'created_at as createdAt'])
    .select(
      // Keys that are neither revoked nor expired.
      sql<number>`(select count(*) from api_key where account_id = account.id and revoked_at is null
        and (expires_at is null or expires_at > now()))`.as('activeKeys'),
    )
    .orderBy('created_at')
    .orderBy('id')
    .execute();

/**
 * Locks the account until the transaction ends, so that concurrent changes do
 * not overwrite each other.
 */
export async function lockAccount(
  tx: SystemTx,
  accountId: string,
): Promise<(Account & { name: string }) | undefined> {
  await takeAdminRole(tx);
  return tx.db
    .selectFrom('account')
    .select(['id', 'name', 'dialect', 'settings'])
    .where(sql<string>`id::text`, '=', accountId)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export async function updateAccount(
  tx: SystemTx,
  accountId: string,
  {
    settings,
    ...account
  }: { name: string; dialect: Dialect; settings: AccountSettings },
): Promise<void> {
  await takeAdminRole(tx);
  await tx.db
    .updateTable('account')
    .set({ ...account, settings: JSON.stringify(settings) })
    .where('id', '=', accountId)
    .execute();
}
