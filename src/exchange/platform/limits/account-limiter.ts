import type { Account } from '../account.ts';
import type { Store } from '../database/database.ts';
import { countUse } from './limit-store.ts';

export const REQUESTS_PER_MINUTE = 1_200;
/**
 * Leases per limit and minute: each takes a fiftieth of the limit, so that few
 * requests need a database round trip.
 */
const LEASES_PER_WINDOW = 50;

export interface LimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetSeconds: number;
}

interface Lease {
  points: number;
  remaining: number;
  endsAtMs: number;
}

/**
 * Limits each account's requests per minute across all gateways. Each gateway
 * takes points from the database in small leases. The rest of a lease expires
 * with the minute, so several gateways may together stop slightly early, but
 * never late.
 */
export class AccountLimiter {
  readonly #leases = new Map<string, Lease>();
  readonly #pending = new Map<string, Promise<void>>();
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  async take(account: Account): Promise<LimitState> {
    const limit =
      account.settings.limits?.requestsPerMinute ?? REQUESTS_PER_MINUTE;
    // A loop, because other waiting requests may have used up a renewed lease.
    for (;;) {
      const lease = this.#leases.get(account.id);
      if (lease !== undefined && lease.endsAtMs > Date.now()) {
        if (lease.points > 0) {
          lease.points -= 1;
          return state(lease, limit, true);
        }
        if (lease.remaining === 0) return state(lease, limit, false);
      }
      await this.#renew(account.id, limit);
    }
  }

  #renew(accountId: string, limit: number): Promise<void> {
    const running = this.#pending.get(accountId);
    if (running !== undefined) return running;
    const renewal = this.#takeLease(accountId, limit).finally(() =>
      this.#pending.delete(accountId),
    );
    this.#pending.set(accountId, renewal);
    return renewal;
  }

  async #takeLease(accountId: string, limit: number): Promise<void> {
    const points = Math.max(1, Math.ceil(limit / LEASES_PER_WINDOW));
    const [use] = await this.store.asAccount(accountId, (tx) =>
      countUse(tx, ['requests'], points),
    );
    if (use === undefined) throw new Error('countUse returned no row');
    this.#leases.set(accountId, {
      points: Math.max(0, Math.min(points, limit - (use.used - points))),
      remaining: Math.max(0, limit - use.used),
      endsAtMs: Date.now() + use.resetMs,
    });
  }
}

function state(lease: Lease, limit: number, allowed: boolean): LimitState {
  return {
    allowed,
    limit,
    remaining: Math.max(0, lease.points + lease.remaining),
    resetSeconds: Math.max(1, Math.ceil((lease.endsAtMs - Date.now()) / 1000)),
  };
}
