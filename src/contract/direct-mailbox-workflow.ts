/** Input of the workflow `directMailbox`. */
export interface DirectMailboxInput {
  /** The account whose mailbox is read; PostgreSQL has where it is. */
  accountId: string;
}

/** What a reading of a mailbox has found: counts only. */
export interface MailboxRead {
  /** Messages for the account that were taken in. */
  received: number;
  /** Messages that were taken in before. */
  known: number;
  /** Notifications about messages that the account has sent. */
  receipts: number;
  /** Messages that were reported to their senders as not delivered. */
  returned: number;
  /** What is no message for the account, or not from whom it says. */
  ignored: number;
  /** The account has no mailbox any more. */
  isGone: boolean;
}
