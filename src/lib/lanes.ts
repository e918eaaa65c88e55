export interface LanesOptions<Item> {
  /** Maximum number of pieces of work in progress, in all lanes and in one. */
  inProgressMax: number;
  perLaneMax: number;
  /** Maximum number of items that one piece of work takes. */
  batchMax: number;
  /**
   * Maximum number of items that wait in one lane, and in all lanes together,
   * besides those that begin at once.
   */
  waitingMax: number;
  waitingInAllMax?: number;
  /** Must not throw. */
  work(lane: string, items: Item[]): Promise<void>;
}

interface Lane<Item> {
  name: string;
  waiting: Item[];
  inProgress: number;
  /** Whether it is in the queue of lanes that may start work. */
  isReady: boolean;
}

/**
 * Runs work in lanes that take turns, so that a slow lane delays no other. The
 * items of a lane are taken in their order; what waits is in memory only.
 */
export class Lanes<Item> {
  readonly #lanes = new Map<string, Lane<Item>>();
  readonly #ready: Lane<Item>[] = [];
  #inProgress = 0;
  #waiting = 0;
  #idle: (() => void)[] = [];
  private readonly options: LanesOptions<Item>;

  constructor(options: LanesOptions<Item>) {
    this.options = options;
  }

  /**
   * Adds items to a lane. Returns false, and adds none, if they would exceed
   * what may wait there.
   */
  add(name: string, items: readonly Item[]): boolean {
    const lane = this.#lanes.get(name) ?? {
      name,
      waiting: [],
      inProgress: 0,
      isReady: false,
    };
    const { waitingMax, waitingInAllMax = Number.POSITIVE_INFINITY } =
      this.options;
    if (lane.waiting.length + items.length > waitingMax) return false;
    if (this.#waiting + items.length > waitingInAllMax && !this.#mayBegin(lane))
      return false;
    this.#lanes.set(name, lane);
    lane.waiting.push(...items);
    this.#waiting += items.length;
    this.#queue(lane);
    this.#start();
    return true;
  }

  /** Resolves when nothing waits and nothing is in progress. */
  async drain(): Promise<void> {
    if (this.#inProgress > 0)
      await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  get isIdle(): boolean {
    return this.#inProgress === 0;
  }

  #queue(lane: Lane<Item>): void {
    if (
      lane.isReady ||
      lane.waiting.length === 0 ||
      lane.inProgress >= this.options.perLaneMax
    )
      return;
    lane.isReady = true;
    this.#ready.push(lane);
  }

  #mayBegin(lane: Lane<Item>): boolean {
    return (
      this.#inProgress < this.options.inProgressMax &&
      lane.inProgress < this.options.perLaneMax
    );
  }

  #start(): void {
    while (this.#inProgress < this.options.inProgressMax) {
      const lane = this.#ready.shift();
      if (lane === undefined) return;
      lane.isReady = false;
      lane.inProgress += 1;
      this.#inProgress += 1;
      const items = lane.waiting.splice(0, this.options.batchMax);
      this.#waiting -= items.length;
      this.#queue(lane);
      void this.options.work(lane.name, items).finally(() => this.#end(lane));
    }
  }

  #end(lane: Lane<Item>): void {
    lane.inProgress -= 1;
    this.#inProgress -= 1;
    this.#queue(lane);
    if (lane.waiting.length === 0 && lane.inProgress === 0)
      this.#lanes.delete(lane.name);
    this.#start();
    if (this.#inProgress > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

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

/**
 * Runs a limited number of tasks at a time and lets their owners take turns, so
 * that one owner's backlog does not delay the others.
 */
export class FairQueue {
  readonly #owners: Lanes<() => Promise<void>>;

  constructor({ atOnce, ofOneAtOnce, waiting, ofOneWaiting }: FairQueueLimits) {
    this.#owners = new Lanes({
      inProgressMax: atOnce,
      perLaneMax: ofOneAtOnce,
      batchMax: 1,
      waitingMax: ofOneWaiting,
      waitingInAllMax: waiting,
      work: async (_owner, [task]) => task?.(),
    });
  }

  /**
   * Runs `work` in the turn of owner `of`. Throws QueueFullError when too many
   * tasks wait, of this owner or in total.
   */
  run<T>(of: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const task = () => Promise.resolve().then(work).then(resolve, reject);
      if (!this.#owners.add(of, [task])) reject(new QueueFullError());
    });
  }
}
