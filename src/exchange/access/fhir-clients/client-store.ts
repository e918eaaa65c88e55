import { createHash } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import { type Selectable, sql } from 'kysely';
import type { Account } from '../../platform/account.ts';
import { columnsOf } from '../../platform/database/columns.ts';
import {
  type SystemTx,
  takeAdminRole,
} from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';
import { findAccount } from '../accounts/account-store.ts';

/** In lower case, as ids are given out. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type StoredClient = Selectable<Database['fhir_client']>;

export async function insertClient(
  tx: SystemTx,
  {
    keys,
    scopes,
    ...client
  }: {
    id: string;
    accountId: string;
    label?: string;
    keys: { jwks: JSONWebKeySet } | { jwksUrl: string };
    scopes: readonly string[];
    isNetwork?: boolean;
  },
): Promise<void> {
  await takeAdminRole(tx);
  const published =
    'jwks' in keys
      ? { jwks: JSON.stringify(keys.jwks) }
      : { jwks_url: keys.jwksUrl };
  await tx.db
    .insertInto('fhir_client')
    .values({ ...columnsOf(client), ...published, scopes: [...scopes] })
    .execute();
}

export const listClients = (
  tx: SystemTx,
  accountId: string,
): Promise<StoredClient[]> =>
  tx.db
    .selectFrom('fhir_client')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();

export const findClient = async (
  tx: SystemTx,
  id: string,
): Promise<StoredClient | undefined> => (await findClients(tx, [id])).get(id);

/** The clients that exist among these, by id; an id may be any text. */
export async function findClients(
  tx: SystemTx,
  ids: readonly string[],
): Promise<Map<string, StoredClient>> {
  const clients = await tx.db
    .selectFrom('fhir_client')
    .selectAll()
    .where(
      'id',
      '=',
      sql<string>`any(${ids.filter((id) => UUID.test(id))}::uuid[])`,
    )
    .execute();
  return new Map(clients.map((client) => [client.id, client]));
}

/**
 * Revokes a client and its tokens, effective with the commit. Returns false if
 * it is unknown or already revoked.
 */
export async function revokeClient(tx: SystemTx, id: string): Promise<boolean> {
  await takeAdminRole(tx);
  const { numUpdatedRows } = await tx.db
    .updateTable('fhir_client')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * The accounts of those of these clients that are not revoked, by client, and
 * whether it is a network's.
 */
export async function findClientAccounts(
  tx: SystemTx,
  ids: readonly string[],
): Promise<Map<string, { account: Account; isNetwork: boolean }>> {
  const clients = await tx.db
    .selectFrom('fhir_client')
    .select(['id', 'account_id as accountId', 'is_network as isNetwork'])
    .where('id', '=', sql<string>`any(${[...ids]}::uuid[])`)
    .where('revoked_at', 'is', null)
    .execute();
  const accounts = new Map<string, { account: Account; isNetwork: boolean }>();
  for (const { id, accountId, isNetwork } of clients) {
    const account = await findAccount(tx, accountId);
    if (account !== undefined) accounts.set(id, { account, isNetwork });
  }
  return accounts;
}

/**
 * Records that an assertion was used. Returns false when it was used before.
 * Also forgets those that have expired.
 */
export async function useAssertion(
  tx: SystemTx,
  { id, account_id }: Pick<StoredClient, 'id' | 'account_id'>,
  jti: string,
  expiresAt: Date,
): Promise<boolean> {
  const assertions = 'fhir_client_assertion';
  await tx.db
    .deleteFrom(assertions)
    .where('client_id', '=', id)
    .where('expires_at', '<', sql<Date>`now()`)
    .execute();
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto(assertions)
    .values({
      client_id: id,
      account_id,
      jti_hash: createHash('sha256').update(jti).digest(),
      expires_at: expiresAt,
    })
    .onConflict((conflict) =>
      conflict.columns(['client_id', 'jti_hash']).doNothing(),
    )
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}
