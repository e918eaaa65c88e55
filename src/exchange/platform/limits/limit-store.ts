import type { AccountTx } from '../database/database.ts';
import { sqlFile } from '../database/pg-arrays.ts';
import { ExchangeError } from '../errors.ts';

const COUNT_USE = sqlFile('count-use.sql', import.meta.url);
const READ_USE = sqlFile('read-use.sql', import.meta.url);

/** The period after which a counter starts again; days are those of UTC. */
export type LimitWindow = 'minute' | 'day';

export interface LimitUse {
  name: string;
  /** Uses in the current window, including these. */
  used: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

const toUse = ({
  reset_ms,
  ...use
}: {
  name: string;
  used: number;
  reset_ms: number;
}): LimitUse => ({
  ...use,
  resetMs: Math.max(0, reset_ms),
});
type UseRow = Parameters<typeof toUse>[0];

/**
 * Counts one use (or `uses`) of each named limit in the current window, across
 * all gateways. It is part of the caller's transaction, so a request that is
 * rolled back is not counted. A transaction that began in the previous window
 * and had to wait counts in the current one, so that it does not reset the
 * counter.
 */
export async function countUse(
  tx: AccountTx,
  names: readonly string[],
  uses = 1,
  window: LimitWindow = 'minute',
): Promise<LimitUse[]> {
  if (names.length === 0) return [];
  const sorted = [...names].sort();
  const { rows } = await COUNT_USE<UseRow>({
    accountId: tx.accountId,
    names: sorted,
    uses,
    window,
  }).execute(tx.db);
  return rows.map(toUse);
}

/**
 * Reads the uses of the named limits without counting, and without waiting for
 * concurrent transactions that count.
 */
export async function readUse(
  tx: AccountTx,
  names: readonly string[],
): Promise<LimitUse[]> {
  const { rows } = await READ_USE<UseRow>({ names: [...names] }).execute(tx.db);
  return rows.map(toUse);
}

/**
 * A rate limit per account for one kind of operation, in addition to the limit
 * of requests.
 */
export interface StartLimit {
  /**
   * Name in the database and the RateLimit headers, such as
   * `consolidated-query`.
   */
  name: string;
  /** Name in the error message, such as `consolidated queries`. */
  what: string;
  perMinute: number;
}

/**
 * Counts one start across all gateways, in the transaction of the start. Above
 * the limit it throws 429, with Retry-After and the RateLimit headers of this
 * limit instead of those of the request limit; the rollback undoes the count.
 */
export async function countStart(
  tx: AccountTx,
  { name, what, perMinute }: StartLimit,
): Promise<void> {
  const [use] = await countUse(tx, [name]);
  if (use === undefined || use.used <= perMinute) return;
  const seconds = Math.max(1, Math.ceil(use.resetMs / 1000));
  throw new ExchangeError(
    429,
    `Rate limit of ${perMinute} ${what} per minute exceeded; try again in ${seconds} seconds`,
    {
      headers: {
        'retry-after': String(seconds),
        'ratelimit-policy': `"${name}";q=${perMinute};w=60`,
        ratelimit: `"${name}";r=0;t=${seconds}`,
      },
    },
  );
}
