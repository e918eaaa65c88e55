import type { AccountTx } from '../database/database.ts';
import { ExchangeError } from '../errors.ts';
import { countUse } from './limit-store.ts';

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
