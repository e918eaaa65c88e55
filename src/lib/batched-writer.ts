/**
 * Writes items in batches: while one write runs, further items wait for the next one. If writing a batch fails, its items
 * are written one by one, so that a bad item does not make others fail.
 */
export class BatchedWriter<T> {
  #waiting: Waiting<T>[] = [];
  #running = false;

  constructor(
    private readonly writeAll: (items: T[]) => Promise<void>,
    private readonly itemsMax = 200,
  ) {}

  /** Resolves when the item has been written; rejects when it could not be. */
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
