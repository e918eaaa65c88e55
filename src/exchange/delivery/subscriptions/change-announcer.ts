import { sql } from 'kysely';
import { Lanes } from '../../../lib/lanes.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';

/** Accounts that are told at the same time. */
const ACCOUNTS_AT_ONCE = 2;
/** Notes of a transaction, each with the changes of one merge. */
const NOTES_AT_ONCE = 5;
/** What a process that has stopped did not tell is told after this time. */
const OVERDUE_SECONDS = 30;

/**
 * Tells the FHIR Subscriptions what changed in records, after the commit of the
 * changes: the transaction that changed a record notes it (`record_change`),
 * and waits for no subscription.
 */
export function createChangeAnnouncer({
  store,
  logger,
}: {
  store: Store;
  logger: Pick<Logger, 'warn'>;
}) {
  const accounts = new Lanes<true>({
    inProgressMax: ACCOUNTS_AT_ONCE,
    perLaneMax: 1,
    batchMax: 1,
    // One that waits is told everything that is noted until it begins.
    waitingMax: 1,
    work: (accountId) =>
      announceAll(accountId).catch((err: unknown) =>
        logger.warn(
          { err, accountId },
          'subscriptions were not told of changes; reconcile will',
        ),
      ),
  });

  async function announceAll(accountId: string): Promise<void> {
    while (await announceSome(accountId));
  }

  /** Returns false when nothing was left. */
  const announceSome = (accountId: string): Promise<boolean> =>
    store.asAccount(accountId, async (tx) => {
      const { rows } = await sql<{ id: string }>`
        select announce_noted_changes(${accountId}, ${NOTES_AT_ONCE}) as id`.execute(
        tx.db,
      );
      tx.newEvents.push(...rows.map(({ id }) => id));
      const left = await sql`select from record_change
        where account_id = ${accountId} limit 1`.execute(tx.db);
      return left.rows.length > 0;
    });

  return {
    /** Tells what the account has noted, soon. */
    announce: (accountId: string): void => void accounts.add(accountId, [true]),
    /** The same, awaited, for reconcile. */
    announceAll,
    /** Resolves when nothing is being told. */
    drain: () => accounts.drain(),
  };
}

/** Accounts with changes that nobody has told for long, the oldest first. */
export async function overdueChanges(tx: SystemTx, limit: number) {
  const { rows } = await sql<{ accountId: string; since: Date }>`
    select account_id as "accountId", min(created_at) as since from record_change
    group by account_id having min(created_at) < now() - ${OVERDUE_SECONDS} * interval '1 second'
    order by since limit ${limit}`.execute(tx.db);
  return rows;
}
