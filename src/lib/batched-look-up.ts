/** Thrown instead of waiting when too many keys wait already. */
export class LookUpsFullError extends Error {
  override readonly name = 'LookUpsFullError';
}

/**
 * Looks keys up many at a time: while one look-up runs, whoever comes waits for the next one, which takes as many as it may.
 * Nothing is remembered and nobody joins a look-up that began before they came, so an answer is never older than the
 * question.
 */
export class BatchedLookUp<V> {
  readonly #waiting = new Map<string, Asking<V>>();
  #running = false;

  /**
   * `find` answers what it found by key.
   * @param max keys of one look-up, and keys that may wait
   */
  constructor(
    private readonly find: (keys: string[]) => Promise<ReadonlyMap<string, V>>,
    private readonly max: { atOnce: number; waiting: number } = { atOnce: 500, waiting: 10_000 },
  ) {}

  /** Rejects when the look-up fails, with LookUpsFullError when too many keys wait. */
  get(key: string): Promise<V | undefined> {
    const answer = new Promise<V | undefined>((resolve, reject) => {
      const asking = this.#waiting.get(key) ?? [];
      if (asking.length === 0 && this.#waiting.size >= this.max.waiting) throw new LookUpsFullError();
      asking.push({ resolve, reject });
      this.#waiting.set(key, asking);
    });
    if (!this.#running) void this.#run();
    return answer;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.size > 0) {
      const batch = this.#takeBatch();
      try {
        const found = await this.find(batch.map(([key]) => key));
        for (const [key, asking] of batch) for (const { resolve } of asking) resolve(found.get(key));
      } catch (error) {
        for (const [, asking] of batch) for (const { reject } of asking) reject(error);
      }
    }
    this.#running = false;
  }

  /** Those that wait longest. */
  #takeBatch(): [string, Asking<V>][] {
    const batch = [...this.#waiting].slice(0, this.max.atOnce);
    for (const [key] of batch) this.#waiting.delete(key);
    return batch;
  }
}

type Asking<V> = { resolve: (value: V | undefined) => void; reject: (error: unknown) => void }[];
