import { sql } from 'kysely';
import { LOGIN_REFUSED } from '#direct';
import type { Store } from '../../../platform/database/database.ts';
import { rowsOf } from '../../../platform/database/pg-arrays.ts';
import { READ_WITHIN } from './mailbox-store.ts';

/** What is wrong with the Direct messages of an account. */
export interface MailboxTrouble {
  accountId: string;
  /** The mailbox was not read for longer than usual, or refuses the login. */
  isUnread: boolean;
  /** Since when what arrived is not known; null without a mailbox. */
  unreadSince: Date | null;
  /** Why it could not be read the last time. */
  fault: string | null;
  /** Messages that no mail server has taken for some minutes. */
  unsent: number;
  unsentSince: Date | null;
  oldestUnsentId: string | null;
}

/**
 * The accounts whose mailbox is not read, or whose mail is not sent. An account
 * from which the mailbox was taken may still have messages to send.
 */
export const readMailboxTroubles = (
  store: Pick<Store, 'asSystem'>,
): Promise<MailboxTrouble[]> =>
  store.asSystem((tx) =>
    rowsOf(
      tx,
      sql<MailboxTrouble>`
        with unsent as (
          select account_id, count(*)::int as messages, min(sent_at) as since, (array_agg(id order by sent_at))[1] as oldest
          from message
          where direction = 'outbound' and status = 'processing' and network is null and sent_at < now() - interval '5 minutes'
            and not exists (select from direct_delivery d where d.message_id = message.id and d.handed_over_at is not null)
          group by account_id),
        unread as (
          select account_id, fault, coalesce(read_through, changed_at) as since,
            fault like ${`%(${LOGIN_REFUSED})`} is true or coalesce(read_through, changed_at) < now() - ${READ_WITHIN} as is_unread
          from direct_mailbox)
        select account_id as "accountId", coalesce(is_unread, false) as "isUnread", unread.since as "unreadSince", fault,
          coalesce(messages, 0) as unsent, unsent.since as "unsentSince", oldest as "oldestUnsentId"
        from unread full join unsent using (account_id)
        where is_unread or messages > 0
        order by least(unread.since, unsent.since)`,
    ),
  );
