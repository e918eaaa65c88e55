import { sql } from 'kysely';
import type { Scope } from '../../contract/scope.ts';
import type { Store, SystemTx } from '../platform/database/database.ts';
import type { Account } from './account-store.ts';

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
export async function findKeyHolders(
  store: KeyStore,
  hashes: readonly Buffer[],
): Promise<Map<string, KeyHolder>> {
  const rows = await findKnown(store, { hashes, ids: [] });
  return new Map(rows.map((row) => [row.hash.toString('hex'), toHolder(row)]));
}

/** The holders of the keys with these ids, by id; also of keys that are revoked or have expired. */
export async function findKeyHoldersById(
  store: KeyStore,
  ids: readonly string[],
): Promise<Map<string, KeyHolder>> {
  const rows = await findKnown(store, { hashes: [], ids });
  return new Map(rows.map((row) => [row.key_id, toHolder(row)]));
}

type KeyStore = Pick<Store, 'call' | 'asSystem'>;

/** As the function `known_api_keys` answers. */
interface KnownKeyRow {
  key_id: string;
  hash: Buffer;
  state: KeyHolder['state'];
  scopes: Scope[];
  last_used_at: Date | null;
  account_id: string;
  dialect: Account['dialect'];
  settings: Account['settings'];
}

async function findKnown(
  store: KeyStore,
  { hashes, ids }: { hashes: readonly Buffer[]; ids: readonly string[] },
): Promise<KnownKeyRow[]> {
  const rows = await store.call(
    sql<KnownKeyRow>`select * from known_api_keys(${[...hashes]}::bytea[], ${[...ids]}::uuid[])`,
  );
  const before = Date.now() - USE_NOTED_EVERY_MS;
  const used = rows
    .filter(({ state }) => state === 'good')
    .filter(({ last_used_at: last }) => last === null || last.getTime() < before)
    .map((row) => row.key_id);
  if (used.length > 0) await store.asSystem((tx) => noteUse(tx, used));
  return rows;
}

const toHolder = ({
  key_id: keyId,
  state,
  scopes,
  account_id: id,
  dialect,
  settings,
}: KnownKeyRow): KeyHolder => ({
  ...{ keyId, state, scopes },
  account: { id, dialect, settings },
});

async function noteUse(tx: SystemTx, keyIds: readonly string[]): Promise<void> {
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
