export interface FairQueueLimits {
  /** Pieces of work at a time, over all and of one owner. */
  atOnce: number;
  ofOneAtOnce: number;
  /** Pieces that may wait, over all and of one owner. */
  waiting: number;
  ofOneWaiting: number;
}

/** Thrown at once when no further piece may wait. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

interface Owner {
  running: number;
  waiting: (() => void)[];
}

/**
 * Work that few can do at a time, shared between those it is done for: they take turns, however much one of them has sent
 * before another one came.
 */
export class FairQueue {
  /** In the order of their turns; who had one goes to the end. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;
  #waiting = 0;

  constructor(private readonly limits: FairQueueLimits) {}

  /** Throws QueueFullError when `of`, or all together, have enough waiting. */
  async run<T>(of: string, work: () => Promise<T>): Promise<T> {
    const owner = this.#owners.get(of) ?? { running: 0, waiting: [] };
    if (!this.#mayBegin(owner)) {
      const { waiting, ofOneWaiting } = this.limits;
      if (this.#waiting >= waiting || owner.waiting.length >= ofOneWaiting) throw new QueueFullError();
    }
    this.#owners.set(of, owner);
    this.#waiting += 1;
    const turn = new Promise<void>((resolve) => owner.waiting.push(resolve));
    this.#beginNext();
    await turn;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      owner.running -= 1;
      if (owner.running === 0 && owner.waiting.length === 0) this.#owners.delete(of);
      this.#beginNext();
    }
  }

  #mayBegin(owner: Owner): boolean {
    return this.#running < this.limits.atOnce && owner.running < this.limits.ofOneAtOnce;
  }

  #beginNext(): void {
    for (const [of, owner] of this.#owners) {
      if (owner.waiting.length === 0 || !this.#mayBegin(owner)) continue;
      owner.running += 1;
      this.#running += 1;
      this.#waiting -= 1;
      this.#owners.delete(of);
      this.#owners.set(of, owner);
      owner.waiting.shift()?.();
      return;
    }
  }
}
