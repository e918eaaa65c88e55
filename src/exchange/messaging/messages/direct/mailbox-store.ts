import { sql } from 'kysely';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../../platform/database/columns.ts';
import type {
  AccountTx,
  SystemTx,
} from '../../../platform/database/database.ts';

export type StoredMailbox = Members<'direct_mailbox'>;

type Tx = Pick<SystemTx, 'db'>;

/** A mailbox is read at least as often, unless something is wrong. */
export const READ_WITHIN = sql`(5 * make_interval(secs => (settings -> 'readEverySeconds')::integer) + interval '1 minute')`;

/** The mailboxes of all accounts. */
export async function listMailboxes(tx: SystemTx): Promise<StoredMailbox[]> {
  const rows = await tx.db
    .selectFrom('direct_mailbox')
    .selectAll()
    .orderBy('account_id')
    .execute();
  return rows.map(membersOf);
}

export async function findMailbox(
  tx: Tx,
  accountId: string,
): Promise<StoredMailbox | undefined> {
  const row = await tx.db
    .selectFrom('direct_mailbox')
    .selectAll()
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  return row && membersOf(row);
}

/**
 * Gives the account a mailbox, or changes it. One that is read from another
 * place is read from its beginning.
 */
export async function putMailbox(
  tx: SystemTx,
  {
    settings,
    ...mailbox
  }: Pick<StoredMailbox, 'accountId' | 'settings' | 'credentials'>,
): Promise<void> {
  const values = { ...mailbox, settings: JSON.stringify(settings) };
  await tx.db
    .insertInto('direct_mailbox')
    .values(columnsOf(values))
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet(({ ref }) => ({
        settings: ref('excluded.settings'),
        credentials: ref('excluded.credentials'),
        uid_validity: sql`case when direct_mailbox.settings -> 'imap' = excluded.settings -> 'imap'
          and direct_mailbox.settings -> 'folder' = excluded.settings -> 'folder' then direct_mailbox.uid_validity end`,
        fault: null,
        read_through: null,
        changed_at: sql<Date>`now()`,
      })),
    )
    .execute();
}

export async function deleteMailbox(
  tx: SystemTx,
  accountId: string,
): Promise<void> {
  await tx.db
    .deleteFrom('direct_mailbox')
    .where('account_id', '=', accountId)
    .execute();
}

/**
 * Writes how far the mailbox has been read, or why it was not; nothing when it
 * has been changed meanwhile.
 */
export async function noteReading(
  tx: AccountTx,
  { changedAt }: Pick<StoredMailbox, 'changedAt'>,
  reading: Partial<
    Pick<StoredMailbox, 'uidValidity' | 'lastUid' | 'readThrough' | 'fault'>
  >,
): Promise<void> {
  await tx.db
    .updateTable('direct_mailbox')
    .set(columnsOf(reading))
    .where('account_id', '=', tx.accountId)
    .where('changed_at', '=', changedAt)
    .execute();
}
