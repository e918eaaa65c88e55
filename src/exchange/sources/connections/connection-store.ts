import { sql } from 'kysely';
import type { SourceType } from '../../../contract/primitives.ts';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';

export type StoredConnection = Members<'network_connection'>;
export type NewConnection = Omit<
  StoredConnection,
  'revision' | 'createdAt' | 'changedAt'
>;

type Tx = Pick<SystemTx, 'db'>;

/** The connections of one account, or of all, by source and name. */
export async function listConnections(
  tx: Tx,
  accountId?: string,
): Promise<StoredConnection[]> {
  const all = tx.db
    .selectFrom('network_connection')
    .selectAll()
    .orderBy('source')
    .orderBy('name');
  const rows = await (accountId === undefined
    ? all
    : all.where('account_id', '=', accountId)
  ).execute();
  return rows.map(membersOf);
}

/** The connections of an account to one kind of source, by name. */
export async function connectionsOf(
  tx: AccountTx,
  source: SourceType,
): Promise<StoredConnection[]> {
  const query = tx.db
    .selectFrom('network_connection')
    .selectAll()
    .where('source', '=', source);
  return (await query.orderBy('name').execute()).map(membersOf);
}

/**
 * The ids of an account's enabled connections that are asked about patients, by
 * source; no entry for a source for which it has none of its own.
 */
export async function ownConnections(
  tx: AccountTx,
): Promise<ReadonlyMap<SourceType, readonly string[]>> {
  const rows = await tx.db
    .selectFrom('network_connection')
    .select(['id', 'source', 'enabled'])
    .where(
      sql<boolean>`settings->'ihe'->>'messagesOnly' is distinct from 'true'`,
    )
    .execute();
  const own = new Map<SourceType, string[]>();
  for (const { id, source, enabled } of rows)
    own.set(source, [...(own.get(source) ?? []), ...(enabled ? [id] : [])]);
  return own;
}

export async function findConnection(
  tx: Tx,
  id: string,
): Promise<StoredConnection | undefined> {
  const query = tx.db
    .selectFrom('network_connection')
    .selectAll()
    .where('id', '=', id);
  const row = await query.executeTakeFirst();
  return row && membersOf(row);
}

export async function insertConnection(
  tx: SystemTx,
  connection: NewConnection,
): Promise<void> {
  await tx.db
    .insertInto('network_connection')
    .values(
      columnsOf({
        ...connection,
        settings: JSON.stringify(connection.settings),
      }),
    )
    .execute();
}

/** Changes a connection and its revision. */
export async function updateConnection(
  tx: SystemTx,
  id: string,
  change: Partial<
    Pick<StoredConnection, 'enabled' | 'credentials' | 'authKind' | 'settings'>
  >,
): Promise<void> {
  const { settings, ...rest } = change;
  await tx.db
    .updateTable('network_connection')
    .set({
      ...columnsOf(rest),
      ...(settings === undefined ? {} : { settings: JSON.stringify(settings) }),
      revision: sql`revision + 1`,
      changed_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .execute();
}

/** Deletes a connection and its token. What it delivered stays. */
export async function deleteConnection(
  tx: SystemTx,
  id: string,
): Promise<void> {
  await tx.db.deleteFrom('network_connection').where('id', '=', id).execute();
  await tx.db
    .deleteFrom('source_token')
    .where(({ or, eb }) =>
      or([eb('name', '=', id), eb('name', 'like', `${id}/%`)]),
    )
    .execute();
}

/**
 * How many queries each connection was asked by in the last day, how many of
 * them it failed, and how many wait for it now.
 */
export async function countParts(
  tx: SystemTx,
): Promise<
  ReadonlyMap<string, { asked: number; failed: number; waiting: number }>
> {
  const { rows } = await sql<{
    id: string;
    asked: number;
    failed: number;
    waiting: number;
  }>`
    select connection_id as id, count(*) filter (where started_at > now() - interval '1 day') as asked,
      count(*) filter (where status = 'failed' and started_at > now() - interval '1 day') as failed,
      count(*) filter (where status = 'running' and next_try_at is not null) as waiting
    from network_query_part where status = 'running' or started_at > now() - interval '1 day'
    group by connection_id`.execute(tx.db);
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}
