import { setTimeout as delay } from 'node:timers/promises';

interface Requested {
  /** Requested again since the work last began. */
  again: boolean;
  done: Promise<void>;
}

/** Work that is requested by key: it begins at once, then again after a pause, however often it was requested meanwhile. */
export class PacedWork {
  readonly #options: { pauseMs: number; work(key: string): Promise<void> };
  readonly #requested = new Map<string, Requested>();
  #hurry = new AbortController();
  #drains = 0;

  /** `work` must not throw. */
  constructor(options: { pauseMs: number; work(key: string): Promise<void> }) {
    this.#options = options;
  }

  request(key: string): void {
    const requested = this.#requested.get(key);
    if (requested !== undefined) {
      requested.again = true;
      return;
    }
    const first: Requested = { again: false, done: Promise.resolve() };
    this.#requested.set(key, first);
    first.done = this.#run(key, first);
  }

  get isIdle(): boolean {
    return this.#requested.size === 0;
  }

  /** Resolves when everything requested has been done, without pauses. */
  async drain(): Promise<void> {
    this.#drains += 1;
    this.#hurry.abort();
    this.#hurry = new AbortController();
    await Promise.all([...this.#requested.values()].map(({ done }) => done));
    this.#drains -= 1;
  }

  async #run(key: string, requested: Requested): Promise<void> {
    do {
      requested.again = false;
      await this.#options.work(key);
      if (this.#drains === 0)
        await delay(this.#options.pauseMs, undefined, { signal: this.#hurry.signal }).catch(() => undefined);
    } while (requested.again);
    this.#requested.delete(key);
  }
}
