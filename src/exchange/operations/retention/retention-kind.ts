import type { SystemTx } from '../../platform/database/database.ts';

/** Data of one kind that a rule may remove by age. */
export interface RetentionKind {
  /** In commands, audit and metrics, such as `webhook-events`. */
  name: string;
  /** What is removed, and by which age, for operators. */
  description: string;
  /** Counts what a sweep would remove now, and what is old enough but kept by legal holds. */
  count(tx: SystemTx, before: Date): Promise<DueCount>;
  /**
   * Removes at most `limit` items that ended before a time, oldest first; less than `limit` means that nothing is left. Blobs
   * are recorded in `erasure` in the same transaction and go after the commit.
   */
  remove(tx: SystemTx, before: Date, limit: number): Promise<RemovedItem[]>;
}

export interface DueCount {
  due: number;
  held: number;
  /** Time of the oldest item that is due. */
  oldest: Date | null;
}

/** An item without an account is about a person who is no patient of any account. */
export interface RemovedItem {
  accountId: string | null;
}
