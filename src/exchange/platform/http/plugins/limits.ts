import type { FastifyInstance } from 'fastify';
import type { Store } from '../../database/database.ts';
import { ExchangeError } from '../../errors.ts';
import {
  AccountLimiter,
  type LimitState,
} from '../../limits/account-limiter.ts';
import { callerOf } from '../caller.ts';

/**
 * Enforces the account's limit of requests per minute (429), and reports it in
 * the RateLimit headers of every response.
 */
export function addRequestLimit(app: FastifyInstance, store: Store): void {
  const limiter = new AccountLimiter(store);
  app.addHook('onRequest', async (request, reply) => {
    const state = await limiter.take(callerOf(request).account);
    const { limit, remaining, resetSeconds } = state;
    reply.header('ratelimit-policy', `"requests";q=${limit};w=60`);
    reply.header('ratelimit', `"requests";r=${remaining};t=${resetSeconds}`);
    refuseBeyond(state);
  });
}

/** @throws ExchangeError 429 when the limit is used up */
export function refuseBeyond({
  allowed,
  limit,
  resetSeconds,
}: LimitState): void {
  if (allowed) return;
  throw new ExchangeError(
    429,
    `Rate limit of ${limit} requests per minute exceeded; try again in ${resetSeconds} seconds`,
    { headers: { 'retry-after': String(resetSeconds) } },
  );
}
