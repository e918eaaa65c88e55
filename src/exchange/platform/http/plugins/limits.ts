import type { FastifyInstance } from 'fastify';
import type { Store } from '../../database/database.ts';
import { ExchangeError } from '../../errors.ts';
import { AccountLimiter } from '../../limits/account-limiter.ts';
import { callerOf } from './auth.ts';

/** 429 above the account's requests per minute; the headers tell every caller where it stands. */
export function addRequestLimit(app: FastifyInstance, store: Store): void {
  const limiter = new AccountLimiter(store);
  app.addHook('onRequest', async (request, reply) => {
    const { allowed, limit, remaining, resetSeconds } = await limiter.take(callerOf(request).account);
    reply.header('ratelimit-policy', `"requests";q=${limit};w=60`);
    reply.header('ratelimit', `"requests";r=${remaining};t=${resetSeconds}`);
    if (allowed) return;
    throw new ExchangeError(
      429,
      `More than ${limit} requests in this minute; try again in ${resetSeconds} seconds`,
      {
        headers: { 'retry-after': String(resetSeconds) },
      },
    );
  });
}
