/**
 * Writes many at a time: while one write runs, whoever comes waits for the next one, which takes all of them. Each knows
 * when its own is written. When a write of several fails, each is tried alone, so that nobody fails for another.
 */
export class BatchedWriter<T> {
  #waiting: Waiting<T>[] = [];
  #running = false;

  constructor(
    private readonly writeAll: (items: T[]) => Promise<void>,
    private readonly itemsMax = 200,
  ) {}

  /** Resolves when it is written; rejects when it is not. */
  write(item: T): Promise<void> {
    const written = new Promise<void>((resolve, reject) => this.#waiting.push({ item, resolve, reject }));
    if (!this.#running) void this.#run();
    return written;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) await this.#writeSome(this.#waiting.splice(0, this.itemsMax));
    this.#running = false;
  }

  async #writeSome(batch: Waiting<T>[]): Promise<void> {
    try {
      await this.writeAll(batch.map(({ item }) => item));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (batch.length > 1) for (const each of batch) await this.#writeSome([each]);
      else for (const { reject } of batch) reject(error);
    }
  }
}

interface Waiting<T> {
  item: T;
  resolve: () => void;
  reject: (error: unknown) => void;
}
