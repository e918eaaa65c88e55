import { ExchangeError } from '../errors.ts';

const PLACES = { all: 300, account: 100, holder: 30 };

/** One taken place, and the token, key or address that took it. */
interface Place {
  controller: AbortController;
  holder: string;
}

/** How many streams or large bodies of a kind a gateway serves at a time: each takes its part of the gateway while it lasts. */
export class Places {
  readonly #open = new Map<string, Set<Place>>();
  #count = 0;
  #closed = false;

  constructor(
    private readonly max: { all: number; account: number; holder: number } = PLACES,
    private readonly refusal = 'Too many pages are watching at the moment',
  ) {}

  /**
   * Throws 503 with Retry-After when there is none free, so that neither an account nor one token that got into wrong hands
   * takes them all. `signal` is aborted when the place is given back, which may happen twice, or the gateway closes.
   */
  take(accountId: string, holder: string): { signal: AbortSignal; leave: () => void } {
    const own = this.#open.get(accountId) ?? new Set();
    const ofHolder = [...own].filter((place) => place.holder === holder).length;
    const { all, account, holder: each } = this.max;
    if (this.#closed || this.#count >= all || own.size >= account || ofHolder >= each)
      throw new ExchangeError(503, `${this.refusal}; try again in a while`, {
        headers: { 'retry-after': '30' },
      });
    const place = { controller: new AbortController(), holder };
    own.add(place);
    this.#open.set(accountId, own);
    this.#count += 1;
    return { signal: place.controller.signal, leave: () => this.#leave(accountId, place) };
  }

  #leave(accountId: string, place: Place): void {
    place.controller.abort();
    const own = this.#open.get(accountId);
    if (own?.delete(place) !== true) return;
    this.#count -= 1;
    if (own.size === 0) this.#open.delete(accountId);
  }

  /** Ends all of them, so that the gateway can close; clients reconnect to another gateway. */
  close(): void {
    this.#closed = true;
    for (const own of this.#open.values()) for (const { controller } of own) controller.abort();
  }
}
