import { sql } from 'kysely';
import type { AccountTx } from '../database/database.ts';
import { ExchangeError } from '../errors.ts';

/** The period after which a counter starts again; days are those of UTC. */
export type LimitWindow = 'minute' | 'day';

export interface LimitUse {
  name: string;
  /** Uses in the current window, including these. */
  used: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/**
 * Counts one use (or `uses`) of each named limit in the current window, across all gateways. It is part of the caller's
 * transaction, so a request that is rolled back is not counted. A transaction that began in the previous window and had to
 * wait counts in the current one, so that it does not reset the counter.
 */
export async function countUse(
  tx: AccountTx,
  names: readonly string[],
  uses = 1,
  window: LimitWindow = 'minute',
): Promise<LimitUse[]> {
  if (names.length === 0) return [];
  const sorted = [...names].sort();
  const { rows } = await sql<{ name: string; used: number; reset_ms: number }>`
    insert into rate_window as w (account_id, name, window_start, used)
    select ${tx.accountId}::uuid, name, date_trunc(${window}, now(), 'UTC'), ${uses}::int from unnest(${sorted}::text[]) as name
    on conflict (account_id, name) do update set
      used = case when w.window_start < excluded.window_start then excluded.used else w.used + excluded.used end,
      window_start = greatest(w.window_start, excluded.window_start)
    returning name, used,
      extract(epoch from window_start + ${`1 ${window}`}::interval - clock_timestamp())::float * 1000 as reset_ms
  `.execute(tx.db);
  return rows.map((row) => ({ name: row.name, used: row.used, resetMs: Math.max(0, row.reset_ms) }));
}

/** Reads the uses of the named limits without counting, and without waiting for concurrent transactions that count. */
export async function readUse(tx: AccountTx, names: readonly string[]): Promise<LimitUse[]> {
  const { rows } = await sql<{ name: string; used: number; reset_ms: number }>`
    select name, case when window_start >= minute then used else 0 end as used,
      extract(epoch from greatest(window_start, minute) + interval '1 minute' - clock_timestamp())::float * 1000 as reset_ms
    from unnest(${[...names]}::text[]) as limits (name)
    left join rate_window using (name) cross join date_trunc('minute', now()) as minute
  `.execute(tx.db);
  return rows.map((row) => ({ name: row.name, used: row.used, resetMs: Math.max(0, row.reset_ms) }));
}

/** A rate limit per account for one kind of operation, in addition to the limit of requests. */
export interface StartLimit {
  /** Name in the database and the RateLimit headers, such as `consolidated-query`. */
  name: string;
  /** Name in the error message, such as `consolidated queries`. */
  what: string;
  perMinute: number;
}

/**
 * Counts one start across all gateways, in the transaction of the start. Above the limit it throws 429, with Retry-After and
 * the RateLimit headers of this limit instead of those of the request limit; the rollback undoes the count.
 */
export async function countStart(tx: AccountTx, { name, what, perMinute }: StartLimit): Promise<void> {
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
