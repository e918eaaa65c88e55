import { sql } from 'kysely';
import type { Scope } from '../../../contract/scope.ts';
import type { Account } from '../../platform/account.ts';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../platform/database/columns.ts';
import {
  type Store,
  type SystemTx,
  takeAdminRole,
} from '../../platform/database/database.ts';

/** An API key with its account. `keyId` identifies the key in the audit. */
export interface ApiKeyOwner {
  keyId: string;
  /** Only a `good` key authenticates a request. */
  state: 'good' | 'revoked' | 'expired';
  scopes: readonly Scope[];
  account: Account;
}

/** A key as shown to operators: without the key itself and its hash. */
export type StoredKey = Omit<Members<'api_key'>, 'accountId' | 'hash'>;

/**
 * Minimum time between two updates of a key's last use, so that a busy key does
 * not cause a write per request.
 */
const USE_RECORDED_EVERY_MS = 5 * 60_000;

/**
 * Finds keys by hash, including revoked and expired ones. The result is keyed
 * by the hash in hex.
 */
export async function findKeysByHash(
  store: KeyStore,
  hashes: readonly Buffer[],
): Promise<Map<string, ApiKeyOwner>> {
  const rows = await findKnown(store, { hashes, ids: [] });
  return new Map(rows.map((row) => [row.hash.toString('hex'), toOwner(row)]));
}

/**
 * Finds keys by id, including revoked and expired ones. The result is keyed by
 * id.
 */
export async function findKeysById(
  store: KeyStore,
  ids: readonly string[],
): Promise<Map<string, ApiKeyOwner>> {
  const rows = await findKnown(store, { hashes: [], ids });
  return new Map(rows.map((row) => [row.key_id, toOwner(row)]));
}

type KeyStore = Pick<Store, 'call' | 'asSystem'>;

/** A row returned by the database function `known_api_keys`. */
interface KnownKeyRow {
  key_id: string;
  hash: Buffer;
  state: ApiKeyOwner['state'];
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
  const before = Date.now() - USE_RECORDED_EVERY_MS;
  const used = rows
    .filter(({ state }) => state === 'good')
    .filter(
      ({ last_used_at: last }) => last === null || last.getTime() < before,
    )
    .map((row) => row.key_id);
  if (used.length > 0) await store.asSystem((tx) => recordUse(tx, used));
  return rows;
}

function toOwner(row: KnownKeyRow): ApiKeyOwner {
  const {
    keyId,
    state,
    scopes,
    accountId: id,
    dialect,
    settings,
  } = membersOf(row);
  return { keyId, state, scopes, account: { id, dialect, settings } };
}

async function recordUse(
  tx: SystemTx,
  keyIds: readonly string[],
): Promise<void> {
  // Rows locked by another gateway are skipped, because it is recording the
  // same use.
  await sql`
    update api_key set last_used_at = now() where id in (
      select id from api_key where id = any(${[...keyIds]}::uuid[]) for update skip locked
    )`.execute(tx.db);
}

/**
 * Stores a key by its hash; a known key is left unchanged. Without `scopes` the
 * key has all of them.
 */
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
  await takeAdminRole(tx);
  await tx.db
    .insertInto('api_key')
    .values(columnsOf({ ...key, scopes: key.scopes && [...key.scopes] }))
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute();
}

/** The account's keys, newest first. */
export async function listApiKeys(
  tx: SystemTx,
  accountId: string,
): Promise<StoredKey[]> {
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

/** The key with this id, or up to two with this prefix. */
export async function findApiKeys(
  tx: SystemTx,
  idOrPrefix: string,
): Promise<{ id: string; prefix: string; accountId: string }[]> {
  return tx.db
    .selectFrom('api_key')
    .select(['id', 'prefix', 'account_id as accountId'])
    .where((or) =>
      or.or([
        or(sql<string>`id::text`, '=', idOrPrefix),
        or('prefix', '=', idOrPrefix),
      ]),
    )
    .limit(2)
    .execute();
}

/**
 * Revokes a key, effective with the commit. Returns false if the key is unknown
 * or already revoked.
 */
export async function revokeApiKey(
  tx: SystemTx,
  keyId: string,
): Promise<boolean> {
  await takeAdminRole(tx);
  const { numUpdatedRows } = await tx.db
    .updateTable('api_key')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
