import { sql } from 'kysely';
import type { SystemTx } from '../database/database.ts';

/**
 * An audit entry with its position in the account's chain: null until it is
 * sealed; the same goes for `mac`. `times`: the number of refusals that the
 * entry summarises, the first at `since`; 1 for an ordinary entry. `details`:
 * JSON as text.
 */
export type ChainRow = Awaited<
  ReturnType<ReturnType<typeof rows>['execute']>
>[number];

export interface StoredHead {
  position: number;
  mac: Buffer;
}

/** ISO 8601 with microseconds, the precision of the database. */
const instant = <C extends 'at' | 'since'>(column: C) =>
  sql<C extends 'at' ? string : string | null>`
    to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

const rows = (tx: SystemTx, accountId: string) =>
  tx.db
    .selectFrom('audit_entry')
    .select([
      'id',
      'account_id as accountId',
      'actor',
      'operation',
      'patient_id as patientId',
    ])
    .select([
      'target_id as targetId',
      'outcome',
      'remote_address as remoteAddress',
      'position',
      'mac',
    ])
    .select([
      'times',
      'details',
      instant('at').as('at'),
      instant('since').as('since'),
    ])
    .where('account_id', '=', accountId);

/** Ids of accounts with unsealed entries. */
export async function accountsToSeal(
  tx: SystemTx,
  limit: number,
): Promise<string[]> {
  const accounts = await tx.db
    .selectFrom('account')
    .select('id')
    .where((where) =>
      where.exists(
        where
          .selectFrom('audit_entry')
          .select('audit_entry.id')
          .whereRef('audit_entry.account_id', '=', 'account.id')
          .where('audit_entry.position', 'is', null),
      ),
    )
    .limit(limit)
    .execute();
  return accounts.map(({ id }) => id);
}

/**
 * Locks the head of the account's chain until the transaction ends. Creates it
 * at position 0 if there is none.
 */
export async function lockHead(
  tx: SystemTx,
  accountId: string,
): Promise<StoredHead> {
  await tx.db
    .insertInto('audit_head')
    .values({ account_id: accountId, position: 0, mac: Buffer.alloc(0) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return heads(tx, accountId).forUpdate().executeTakeFirstOrThrow();
}

export const findHead = (
  tx: SystemTx,
  accountId: string,
): Promise<StoredHead | undefined> => heads(tx, accountId).executeTakeFirst();

const heads = (tx: SystemTx, accountId: string) =>
  tx.db
    .selectFrom('audit_head')
    .select(['position', 'mac'])
    .where('account_id', '=', accountId);

/**
 * Unsealed entries, oldest first; with `only`, those with exactly these
 * details.
 */
export function unsealedRows(
  tx: SystemTx,
  accountId: string,
  limit: number,
  only?: string,
): Promise<ChainRow[]> {
  const unsealed = rows(tx, accountId).where('position', 'is', null);
  const query =
    only === undefined ? unsealed : unsealed.where('details', '=', only);
  return query.orderBy('id').limit(limit).execute();
}

/**
 * Whether the chain contains a sealed entry of one of these operations whose
 * details contain the text.
 */
export async function hasSealedDetail(
  tx: SystemTx,
  accountId: string,
  operations: readonly string[],
  text: string,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom('audit_entry')
    .select('id')
    .where('account_id', '=', accountId)
    .where('operation', 'in', operations)
    .where('details', 'is not', null)
    .where(sql<boolean>`strpos(details, ${text}) > 0`)
    .where('position', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export const sealedRows = (
  tx: SystemTx,
  accountId: string,
  page: { after: number; limit: number },
): Promise<ChainRow[]> =>
  rows(tx, accountId)
    .where('position', '>', page.after)
    .orderBy('position')
    .limit(page.limit)
    .execute();

/**
 * A page of the entries of a period, ordered by id, sealed or not. `to` is
 * exclusive.
 */
export function rowsOfTime(
  tx: SystemTx,
  accountId: string,
  time: { from?: Date; to?: Date },
  page: { after: number; limit: number },
): Promise<ChainRow[]> {
  let query = rows(tx, accountId).where('id', '>', page.after);
  if (time.from !== undefined) query = query.where('at', '>=', time.from);
  if (time.to !== undefined) query = query.where('at', '<', time.to);
  return query.orderBy('id').limit(page.limit).execute();
}

export async function countUnsealed(
  tx: SystemTx,
  accountId: string,
): Promise<{ count: number; oldestAt: Date | null }> {
  return tx.db
    .selectFrom('audit_entry')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.min<Date | null>('at').as('oldestAt'),
    ])
    .where('account_id', '=', accountId)
    .where('position', 'is', null)
    .executeTakeFirstOrThrow();
}

/** The MAC of the entry at a position; undefined if there is none. */
export async function macAt(
  tx: SystemTx,
  accountId: string,
  position: number,
): Promise<Buffer | undefined> {
  const row = await tx.db
    .selectFrom('audit_entry')
    .select('mac')
    .where(({ and }) => and({ account_id: accountId, position }))
    .executeTakeFirst();
  return row?.mac ?? undefined;
}

/**
 * Stores positions and MACs, and advances the head, which the caller has locked
 * (`lockHead`).
 */
export async function writeSeals(
  tx: SystemTx,
  accountId: string,
  seals: readonly { id: number; position: number; mac: Buffer }[],
): Promise<void> {
  const last = seals.at(-1);
  if (last === undefined) return;
  await sql`
    update audit_entry e set position = s.position, mac = s.mac
    from unnest(${seals.map(({ id }) => id)}::bigint[], ${seals.map(({ position }) => position)}::bigint[],
      ${seals.map(({ mac }) => mac)}::bytea[]) as s(id, position, mac)
    where e.id = s.id and e.position is null`.execute(tx.db);
  await tx.db
    .updateTable('audit_head')
    .set({
      position: last.position,
      mac: last.mac,
      sealed_at: sql<Date>`now()`,
    })
    .where('account_id', '=', accountId)
    .execute();
}
