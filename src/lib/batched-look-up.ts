/**
 * Looks keys up many at a time: while one look-up runs, whoever comes waits for the next one, which takes all of them.
 * Nothing is remembered and nobody joins a look-up that began before they came, so an answer is never older than the
 * question.
 */
export class BatchedLookUp<V> {
  #waiting = new Map<string, Batch<V>>();
  #running = false;

  /** `find` answers what it found by key. */
  constructor(private readonly find: (keys: string[]) => Promise<ReadonlyMap<string, V>>) {}

  /** Rejects when the look-up fails. */
  get(key: string): Promise<V | undefined> {
    const answer = new Promise<V | undefined>((resolve, reject) => {
      const batch = this.#waiting.get(key) ?? [];
      batch.push({ resolve, reject });
      this.#waiting.set(key, batch);
    });
    if (!this.#running) void this.#run();
    return answer;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.size > 0) {
      const batch = this.#waiting;
      this.#waiting = new Map();
      try {
        const found = await this.find([...batch.keys()]);
        for (const [key, asking] of batch) for (const { resolve } of asking) resolve(found.get(key));
      } catch (error) {
        for (const asking of batch.values()) for (const { reject } of asking) reject(error);
      }
    }
    this.#running = false;
  }
}

type Batch<V> = { resolve: (value: V | undefined) => void; reject: (error: unknown) => void }[];
