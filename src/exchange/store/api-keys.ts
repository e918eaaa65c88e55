import { sql } from 'kysely';
import type { Scope } from '../../contract/scope.ts';
import type { Account } from './accounts.ts';
import type { SystemTx } from './database.ts';

/** An account, found by its key; `keyId` is what the audit names. */
export interface KeyHolder {
  keyId: string;
  /** Who is not `good` may nothing. */
  state: 'good' | 'revoked' | 'expired';
  scopes: readonly Scope[];
  account: Account;
}

/** A key as its owner may see it: never the key itself, nor its hash. */
export interface StoredKey {
  id: string;
  prefix: string;
  label: string | null;
  scopes: readonly Scope[];
  createdAt: Date;
  expiresAt: Date | null;
  /** To some minutes. */
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

/** A use is noted when the last one noted is older than that: a busy key costs one write in this time. */
const USE_NOTED_EVERY_MS = 5 * 60_000;

/** The holders of the keys with these hashes, by hash in hex; also of keys that are revoked or have expired. */
export const findKeyHolders = (tx: SystemTx, hashes: readonly Buffer[]): Promise<Map<string, KeyHolder>> =>
  findKnown(tx, 'hash', hashes);

/** The holders of the keys with these ids, by id; also of keys that are revoked or have expired. */
export const findKeyHoldersById = (
  tx: SystemTx,
  keyIds: readonly string[],
): Promise<Map<string, KeyHolder>> => findKnown(tx, 'id', keyIds);

export async function findKeyHolder(tx: SystemTx, hash: Buffer): Promise<KeyHolder | undefined> {
  return (await findKeyHolders(tx, [hash])).get(hash.toString('hex'));
}

async function findKnown(
  tx: SystemTx,
  by: 'hash' | 'id',
  values: readonly (Buffer | string)[],
): Promise<Map<string, KeyHolder>> {
  const rows = await tx.db
    .selectFrom('api_key')
    .innerJoin('account', 'account.id', 'api_key.account_id')
    .select(['api_key.id as keyId', 'api_key.hash', 'api_key.scopes', 'api_key.last_used_at as lastUsedAt'])
    .select(
      sql<KeyHolder['state']>`case when api_key.revoked_at is not null then 'revoked'
        when api_key.expires_at <= now() then 'expired' else 'good' end`.as('state'),
    )
    .select(['account.id', 'account.dialect', 'account.settings'])
    .where(
      by === 'hash'
        ? sql<boolean>`api_key.hash = any(${[...values]}::bytea[])`
        : sql<boolean>`api_key.id = any(${[...values]}::uuid[])`,
    )
    .execute();
  const before = Date.now() - USE_NOTED_EVERY_MS;
  await noteUse(
    tx,
    rows
      .filter(({ state }) => state === 'good')
      .filter(({ lastUsedAt }) => lastUsedAt === null || lastUsedAt.getTime() < before)
      .map(({ keyId }) => keyId),
  );
  return new Map(
    rows.map(({ keyId, hash, state, scopes, lastUsedAt: _, ...account }) => [
      by === 'hash' ? hash.toString('hex') : keyId,
      { keyId, state, scopes, account },
    ]),
  );
}

async function noteUse(tx: SystemTx, keyIds: readonly string[]): Promise<void> {
  if (keyIds.length === 0) return;
  // Whom another gateway is noting just now is noted already; nobody waits for that.
  await sql`
    update api_key set last_used_at = now() where id in (
      select id from api_key where id = any(${[...keyIds]}::uuid[]) for update skip locked
    )`.execute(tx.db);
}

/** Stores a key by its hash; a key that is known stays as it is. Without scopes it may do everything. */
export async function insertApiKey(
  tx: SystemTx,
  key: {
    id: string;
    accountId: string;
    prefix: string;
    hash: Buffer;
    label?: string;
    scopes?: readonly Scope[];
    expiresAt?: Date;
  },
): Promise<void> {
  await tx.db
    .insertInto('api_key')
    .values({
      id: key.id,
      account_id: key.accountId,
      prefix: key.prefix,
      hash: key.hash,
      label: key.label ?? null,
      expires_at: key.expiresAt ?? null,
      ...(key.scopes && { scopes: [...key.scopes] }),
    })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute();
}

/** Newest first. */
export async function listApiKeys(tx: SystemTx, accountId: string): Promise<StoredKey[]> {
  return tx.db
    .selectFrom('api_key')
    .select(['id', 'prefix', 'label', 'scopes'])
    .select(['created_at as createdAt', 'expires_at as expiresAt'])
    .select(['last_used_at as lastUsedAt', 'revoked_at as revokedAt'])
    .where('account_id', '=', accountId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** The key of this id, or those of this prefix. */
export async function findApiKeys(
  tx: SystemTx,
  idOrPrefix: string,
): Promise<{ id: string; prefix: string; accountId: string }[]> {
  return tx.db
    .selectFrom('api_key')
    .select(['id', 'prefix', 'account_id as accountId'])
    .where((or) => or.or([or(sql<string>`id::text`, '=', idOrPrefix), or('prefix', '=', idOrPrefix)]))
    .limit(2)
    .execute();
}

/** In force for every request that comes after the commit. False when the key is unknown or was revoked before. */
export async function revokeApiKey(tx: SystemTx, keyId: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('api_key')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
