import { sql } from 'kysely';
import type { Account } from './accounts.ts';
import type { SystemTx } from './database.ts';

/** An account, found by its key; `keyId` is what the audit names. */
export interface KeyHolder {
  keyId: string;
  account: Account;
}

/** The holder of the key with this hash; none when it is unknown, revoked or expired. */
export async function findKeyHolder(tx: SystemTx, hash: Buffer): Promise<KeyHolder | undefined> {
  const row = await tx.db
    .selectFrom('api_key')
    .innerJoin('account', 'account.id', 'api_key.account_id')
    .select(['api_key.id as keyId', 'account.id', 'account.dialect', 'account.settings'])
    .where('api_key.hash', '=', hash)
    .where('api_key.revoked_at', 'is', null)
    .where((or) =>
      or.or([or('api_key.expires_at', 'is', null), or('api_key.expires_at', '>', sql<Date>`now()`)]),
    )
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { keyId, ...account } = row;
  return { keyId, account };
}

/** Stores a key by its hash; a key that is known stays as it is. */
export async function insertApiKey(
  tx: SystemTx,
  key: { id: string; accountId: string; prefix: string; hash: Buffer },
): Promise<void> {
  await tx.db
    .insertInto('api_key')
    .values({ id: key.id, account_id: key.accountId, prefix: key.prefix, hash: key.hash })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute();
}

export async function revokeApiKey(tx: SystemTx, keyId: string): Promise<void> {
  await tx.db.updateTable('api_key').set({ revoked_at: new Date() }).where('id', '=', keyId).execute();
}
