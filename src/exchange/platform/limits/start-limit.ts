import type { AccountTx } from '../database/database.ts';
import { ExchangeError } from '../errors.ts';
import { countUse } from './limit-store.ts';

/** A limit of an account beside that of its requests. */
export interface StartLimit {
  /** In the counters and the RateLimit headers: `consolidated-query`. */
  name: string;
  /** In the sentence: `consolidated queries`. */
  what: string;
  perMinute: number;
}

/**
 * Counts one start, as part of the transaction that makes it, over all gateways. Above the limit nothing is counted, and it
 * throws 429 with Retry-After and the RateLimit headers of this limit instead of that of requests.
 */
export async function countStart(tx: AccountTx, { name, what, perMinute }: StartLimit): Promise<void> {
  const [use] = await countUse(tx, [name]);
  if (use === undefined || use.used <= perMinute) return;
  const seconds = Math.max(1, Math.ceil(use.resetMs / 1000));
  throw new ExchangeError(
    429,
    `Rate limit of ${perMinute} ${what} per minute exceeded; try again in ${seconds} s`,
    {
      headers: {
        'retry-after': String(seconds),
        'ratelimit-policy': `"${name}";q=${perMinute};w=60`,
        ratelimit: `"${name}";r=0;t=${seconds}`,
      },
    },
  );
}
