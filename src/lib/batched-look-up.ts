/** Thrown when too many keys are already waiting. */
export class LookUpsFullError extends Error {
  override readonly name = 'LookUpsFullError';
}

/**
 * Looks up keys in batches: while one look-up runs, further keys wait for the next one. Results are not cached, and a key
 * never joins a look-up that is already running, so a result is never older than its request.
 */
export class BatchedLookUp<V> {
  readonly #waiting = new Map<string, Asking<V>>();
  #running = false;

  /**
   * @param find looks up a batch; keys missing from the returned map count as not found
   * @param max maximum number of keys per look-up, and of waiting keys
   */
  constructor(
    private readonly find: (keys: string[]) => Promise<ReadonlyMap<string, V>>,
    private readonly max: { atOnce: number; waiting: number } = { atOnce: 500, waiting: 10_000 },
  ) {}

  /** Rejects when the look-up fails, and with LookUpsFullError when too many keys are waiting. */
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

  /** Removes the keys that have waited longest. */
  #takeBatch(): [string, Asking<V>][] {
    const batch = [...this.#waiting].slice(0, this.max.atOnce);
    for (const [key] of batch) this.#waiting.delete(key);
    return batch;
  }
}

type Asking<V> = { resolve: (value: V | undefined) => void; reject: (error: unknown) => void }[];
