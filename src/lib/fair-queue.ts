import { Lanes } from './lanes.ts';

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
 * Runs a limited number of tasks at a time and lets their owners take turns, so that one owner's backlog does not delay the
 * others.
 */
export class FairQueue {
  readonly #owners: Lanes<() => Promise<void>>;

  constructor({ atOnce, ofOneAtOnce, waiting, ofOneWaiting }: FairQueueLimits) {
    this.#owners = new Lanes({
      ...{ inProgressMax: atOnce, perLaneMax: ofOneAtOnce, batchMax: 1 },
      ...{ waitingMax: ofOneWaiting, waitingInAllMax: waiting },
      work: async (_owner, [task]) => task?.(),
    });
  }

  /** Runs `work` in the turn of owner `of`. Throws QueueFullError when too many tasks wait, of this owner or in total. */
  run<T>(of: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const task = () => Promise.resolve().then(work).then(resolve, reject);
      if (!this.#owners.add(of, [task])) reject(new QueueFullError());
    });
  }
}
