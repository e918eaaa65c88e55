/** Aborts the sending of content when the receiver takes nothing more for a time although there is something to take. */
export class StallGuard {
  readonly controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isAwaitingContent = false;

  constructor(stalledAfterMs: number) {
    this.#timer = setInterval(() => {
      if (!this.#isAwaitingContent) this.controller.abort();
    }, stalledAfterMs);
  }

  get hasAborted(): boolean {
    return this.controller.signal.aborted;
  }

  /** Something was received: the time begins anew. */
  moved(): void {
    this.#timer.refresh();
  }

  /** Passes the content on. While it is slow itself, the receiver has not stalled. */
  async *watch<T>(content: AsyncIterable<T>): AsyncGenerator<T> {
    this.#isAwaitingContent = true;
    for await (const part of content) {
      this.#isAwaitingContent = false;
      this.moved();
      yield part;
      this.#isAwaitingContent = true;
    }
    this.#isAwaitingContent = false;
    this.moved();
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
