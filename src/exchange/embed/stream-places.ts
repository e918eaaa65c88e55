import { ExchangeError } from '../errors.ts';

const PLACES = 300;
const PLACES_OF_ACCOUNT = 100;

/** How many streams of a gateway may be open at a time: each asks the database again and again. */
export class StreamPlaces {
  readonly #open = new Map<string, Set<AbortController>>();
  #count = 0;
  #closed = false;

  constructor(
    private readonly max: { all: number; account: number } = { all: PLACES, account: PLACES_OF_ACCOUNT },
  ) {}

  /** Throws 503 with Retry-After when there is none free. Give it back with `leave`. */
  take(accountId: string): AbortController {
    const own = this.#open.get(accountId) ?? new Set();
    if (this.#closed || this.#count >= this.max.all || own.size >= this.max.account)
      throw new ExchangeError(503, 'Too many pages are watching at the moment; try again in a while', {
        headers: { 'retry-after': '30' },
      });
    const place = new AbortController();
    own.add(place);
    this.#open.set(accountId, own);
    this.#count += 1;
    return place;
  }

  leave(accountId: string, place: AbortController): void {
    place.abort();
    const own = this.#open.get(accountId);
    if (own?.delete(place) !== true) return;
    this.#count -= 1;
    if (own.size === 0) this.#open.delete(accountId);
  }

  /** Ends all of them, so that the gateway can close; whoever watches comes again, to another one. */
  close(): void {
    this.#closed = true;
    for (const own of this.#open.values()) for (const place of own) place.abort();
  }
}
