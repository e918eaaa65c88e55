export interface FairQueueLimits {
  /** Maximum number of running tasks: in total, and per owner. */
  atOnce: number;
  ofOneAtOnce: number;
  /** Maximum number of waiting tasks: in total, and per owner. */
  waiting: number;
  ofOneWaiting: number;
}

/** Thrown at once when no further task may wait. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

interface Owner {
  running: number;
  waiting: (() => void)[];
}

/**
 * Runs a limited number of tasks at a time and lets their owners take turns, so that one owner's backlog does not delay the
 * others.
 */
export class FairQueue {
  /** In the order of their turns; an owner that had a turn moves to the end. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;
  #waiting = 0;

  constructor(private readonly limits: FairQueueLimits) {}

  /** Runs `work` in the turn of owner `of`. Throws QueueFullError when too many tasks wait, of this owner or in total. */
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
