import type { SystemTx } from './database.ts';
import type { AccountSettings } from './schema.ts';

export type Dialect = 'interface' | 'published';

/** Who a request acts for, and how that account wants to be served. */
export interface Account {
  id: string;
  dialect: Dialect;
  settings: AccountSettings;
}

export async function findAccount(tx: SystemTx, accountId: string): Promise<Account | undefined> {
  return tx.db
    .selectFrom('account')
    .select(['id', 'dialect', 'settings'])
    .where('id', '=', accountId)
    .executeTakeFirst();
}

/** Creates the account, or leaves one of that id as it is. */
export async function insertAccount(
  tx: SystemTx,
  account: { id: string; name: string; dialect?: Dialect; settings: AccountSettings },
): Promise<void> {
  await tx.db
    .insertInto('account')
    .values({ ...account, settings: JSON.stringify(account.settings) })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}
