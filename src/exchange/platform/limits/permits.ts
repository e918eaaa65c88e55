import { ExchangeError } from '../errors.ts';

const PERMITS = { all: 300, account: 100, holder: 30 };

/** A permit in use, and the token, key or address that uses it. */
interface Permit {
  controller: AbortController;
  holder: string;
}

/**
 * Limits how many streams or large bodies of a kind a gateway serves at a time,
 * in all, per account and per holder.
 */
export class Permits {
  readonly #open = new Map<string, Set<Permit>>();
  #count = 0;
  #closed = false;

  private readonly max: {
    all: number;
    account: number;
    holder: number;
  };
  private readonly refusal: string;

  constructor(
    max: {
      all: number;
      account: number;
      holder: number;
    } = PERMITS,
    refusal = 'Too many pages are watching at the moment',
  ) {
    this.max = max;
    this.refusal = refusal;
  }

  /**
   * Throws 503 with Retry-After when no permit is free, so that neither an
   * account nor a stolen token takes them all. `signal` is aborted when the
   * permit is returned (which may happen twice) or the gateway closes.
   */
  take(
    accountId: string,
    holder: string,
  ): { signal: AbortSignal; leave: () => void } {
    const own = this.#open.get(accountId) ?? new Set();
    const ofHolder = [...own].filter(
      (permit) => permit.holder === holder,
    ).length;
    const { all, account, holder: each } = this.max;
    if (
      this.#closed ||
      this.#count >= all ||
      own.size >= account ||
      ofHolder >= each
    )
      throw new ExchangeError(503, `${this.refusal}; try again in a while`, {
        code: 'overloaded',
        headers: { 'retry-after': '30' },
      });
    const permit = { controller: new AbortController(), holder };
    own.add(permit);
    this.#open.set(accountId, own);
    this.#count += 1;
    return {
      signal: permit.controller.signal,
      leave: () => this.#leave(accountId, permit),
    };
  }

  #leave(accountId: string, permit: Permit): void {
    permit.controller.abort();
    const own = this.#open.get(accountId);
    if (own?.delete(permit) !== true) return;
    this.#count -= 1;
    if (own.size === 0) this.#open.delete(accountId);
  }

  /**
   * Ends all streams, so that the gateway can close; clients reconnect to
   * another gateway.
   */
  close(): void {
    this.#closed = true;
    for (const own of this.#open.values())
      for (const { controller } of own) controller.abort();
  }
}
