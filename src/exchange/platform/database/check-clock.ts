import { sql } from 'kysely';
import { ConfigError } from '../../../config.ts';
import type { Store } from './database.ts';
import { isConnectionFault } from './postgres-errors.ts';

/** Receivers refuse webhooks that are off by five minutes; rows of several workers are put in order by seconds. */
const DIFFERENCE_MAX_MS = 30_000;

/**
 * Throws ConfigError if this machine's clock differs from PostgreSQL's by more than 30 s, because the process would write times
 * that others compare with theirs. While the database cannot be reached, the clock is not checked.
 */
export async function checkClock(store: Pick<Store, 'call'>): Promise<void> {
  const sentAt = Date.now();
  const [row] = await store
    .call(sql<{ now: Date }>`select clock_timestamp() as now`)
    .catch((error: unknown) => {
      if (isConnectionFault(error)) return [];
      throw error;
    });
  if (row === undefined) return;
  const aheadMs = (sentAt + Date.now()) / 2 - row.now.getTime();
  const roundTripMs = Date.now() - sentAt;
  if (Math.abs(aheadMs) <= DIFFERENCE_MAX_MS + roundTripMs / 2) return;
  throw new ConfigError(
    `This machine's clock is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ` +
      "PostgreSQL's: synchronise both with NTP, then start again",
  );
}
