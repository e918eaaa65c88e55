import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

const PROBE_MS = 500;
const PROBE_TIMEOUT_MS = 4_000;
const POLL_MS = 50;

/** The servers behind a proxy, and which of them are ready. */
export class Backends {
  readonly #urls: readonly string[];
  readonly #ready = new Set<string>();
  readonly #closing = new AbortController();
  readonly #probing: Promise<unknown>;
  #turn = 0;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
    this.#probing = Promise.all(urls.map((url) => this.#keepProbing(url)));
  }

  /** The ready servers take turns; one that has just failed this request comes last. Undefined: none is ready. */
  next(failed?: string): string | undefined {
    const ready = this.#urls.filter((url) => this.#ready.has(url));
    const others = ready.filter((url) => url !== failed);
    const from = others.length > 0 ? others : ready;
    this.#turn += 1;
    return from[this.#turn % from.length];
  }

  /** Waits for a ready server; undefined when there was none until the deadline or the end of the client. */
  async waitForNext(deadlineAt: number, client: AbortSignal, failed?: string): Promise<string | undefined> {
    for (;;) {
      const url = this.next(failed);
      if (url !== undefined || Date.now() > deadlineAt || client.aborted) return url;
      await sleep(POLL_MS);
    }
  }

  /** Asks a server now instead of at its next turn. */
  async isReady(url: string): Promise<boolean> {
    const isReady = await probe(url, this.#closing.signal);
    if (isReady) this.#ready.add(url);
    else this.#ready.delete(url);
    return isReady;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#probing;
  }

  async #keepProbing(url: string): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.isReady(url);
      await sleep(PROBE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function probe(url: string, closing: AbortSignal): Promise<boolean> {
  try {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(PROBE_TIMEOUT_MS)]);
    const { statusCode, body } = await request(`${url}/ready`, { signal });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}
