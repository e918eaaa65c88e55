export interface BatchesOptions<I, O> {
  /** Maximum number of items in a batch, and of batches in progress. */
  batchMax: number;
  inProgressMax: number;
  /**
   * Returns a result for each item, in their order. Its failure is the failure
   * of all of them, unless `failsAlone`.
   */
  work(items: I[]): Promise<readonly O[]>;
  /**
   * After a failure the items are done one by one, so that a bad one does not
   * make the others fail.
   */
  failsAlone?: boolean;
  /**
   * A call that finds room begins at once, alone, instead of with what else is
   * called in the same turn of the event loop.
   */
  startsAtOnce?: boolean;
}

/**
 * Joins calls that are made at the same time, or while earlier batches are in
 * progress, into one piece of work: a call alone is not delayed, and the more
 * calls there are, the less each costs.
 */
export class Batches<I, O> {
  readonly #waiting: Call<I, O>[] = [];
  #inProgress = 0;
  #isStarting = false;
  private readonly options: BatchesOptions<I, O>;

  constructor(options: BatchesOptions<I, O>) {
    this.options = options;
  }

  run(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.options.startsAtOnce === true) this.#start();
      else this.#startSoon();
    });
  }

  /** After what else arrived in this turn of the event loop has joined. */
  #startSoon(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    setImmediate(() => {
      this.#isStarting = false;
      this.#start();
    });
  }

  #start(): void {
    const { batchMax, inProgressMax } = this.options;
    while (this.#waiting.length > 0 && this.#inProgress < inProgressMax)
      void this.#work(this.#waiting.splice(0, batchMax));
  }

  async #work(calls: Call<I, O>[]): Promise<void> {
    this.#inProgress += 1;
    await this.#settle(calls);
    this.#inProgress -= 1;
    if (this.#waiting.length > 0) this.#startSoon();
  }

  async #settle(calls: Call<I, O>[]): Promise<void> {
    try {
      const results = await this.options.work(calls.map(({ item }) => item));
      if (results.length !== calls.length)
        throw new Error('a batch must have a result for each item');
      for (const [index, { resolve }] of calls.entries())
        resolve(results[index] as O);
    } catch (error) {
      if (this.options.failsAlone === true && calls.length > 1)
        for (const call of calls) await this.#settle([call]);
      else for (const { reject } of calls) reject(error);
    }
  }
}

interface Call<I, O> {
  item: I;
  resolve(result: O): void;
  reject(error: unknown): void;
}

/** Thrown when too many keys are already waiting. */
export class LookUpsFullError extends Error {
  override readonly name = 'LookUpsFullError';
}

/**
 * Looks up keys in batches: while one look-up runs, further keys wait for the
 * next one, each once. Results are not cached, and a key never joins a look-up
 * that is already running, so a result is never older than its request.
 */
export class BatchedLookUp<V> {
  /** What waits for a look-up, by key. */
  readonly #waiting = new Map<string, { answer?: Promise<V | undefined> }>();
  readonly #waitingMax: number;
  readonly #batches: Batches<string, V | undefined>;

  /**
   * @param find looks up a batch; keys missing from the returned map count as
   *   not found
   * @param max maximum number of keys per look-up, and of waiting keys
   */
  constructor(
    find: (keys: string[]) => Promise<ReadonlyMap<string, V>>,
    max: { atOnce: number; waiting: number } = { atOnce: 500, waiting: 10_000 },
  ) {
    this.#waitingMax = max.waiting;
    this.#batches = new Batches({
      batchMax: max.atOnce,
      inProgressMax: 1,
      startsAtOnce: true,
      work: async (keys) => {
        for (const key of keys) this.#waiting.delete(key);
        const found = await find(keys);
        return keys.map((key) => found.get(key));
      },
    });
  }

  /**
   * Rejects when the look-up fails, and with LookUpsFullError when too many
   * keys are waiting.
   */
  async get(key: string): Promise<V | undefined> {
    const known = this.#waiting.get(key)?.answer;
    if (known !== undefined) return known;
    if (this.#waiting.size >= this.#waitingMax) throw new LookUpsFullError();
    // Waits before it is looked up, because a look-up that begins at once ends
    // the wait.
    const asked: { answer?: Promise<V | undefined> } = {};
    this.#waiting.set(key, asked);
    asked.answer = this.#batches.run(key);
    return asked.answer;
  }
}
