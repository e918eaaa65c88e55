import { isConnectionFault } from '../database/postgres-errors.ts';

/**
 * Completes committed work of one kind that a crash or an outage left
 * unfinished. The workflow `reconcileLoop` runs all of them.
 */
export interface Recovery {
  /**
   * The kind of work, in the log and as the label of the metrics, such as `bulk
   * creates`.
   */
  name: string;
  /**
   * Gives way to imports of patients, because nothing depends on it being done
   * at once.
   */
  canWait?: true;
  /** Deletes blobs or records: pausing deleting stops it, and only that. */
  deletes?: true;
  /**
   * Takes up a bounded slice of the work. Harmless if repeated. An item that
   * fails must not stop the others.
   */
  takeUp(round: RecoveryRound): Promise<TakenUp>;
}

export interface RecoveryRound {
  /** Maximum number of items. */
  limit: number;
  /**
   * Aborts when the time of this kind is up, or when the worker stops. What
   * remains is left to the next round.
   */
  signal: AbortSignal;
  /**
   * `TakenUp.cursor` of the last round, for kinds that examine all rows slice
   * by slice. Undefined: from the beginning.
   */
  cursor?: string;
  /**
   * Open work whose workflow was last seen before this time is looked at again.
   */
  recheckBefore: Date;
  /**
   * When PostgreSQL or Temporal was found to be older than the other one.
   * Included in `recheckBefore`.
   */
  restoredAt?: Date;
}

export interface TakenUp {
  /**
   * Unfinished items. Those that were only looked at and are in order do not
   * count.
   */
  found: number;
  /** How many of the found items are completed now, or in progress again. */
  healed: number;
  /** Errors of the items that failed. */
  failures: unknown[];
  /** Since when the oldest of the found items has been unfinished. */
  oldestSince?: Date;
  /** More items are waiting, so that the next round should follow at once. */
  isBehind?: boolean;
  /** Where the next slice begins. Undefined: at the beginning. */
  cursor?: string;
}

/** Marks a recovery as one that deletes blobs or records. */
export const deleting = (recovery: Recovery): Recovery => ({
  ...recovery,
  deletes: true,
});

/** Since when an item has been unfinished. */
interface Dated {
  since: Date;
}

/** Creates a recovery that finds unfinished items and heals each by itself. */
export function itemRecovery<Item extends Dated & { accountId?: string }>(of: {
  name: string;
  /** Maximum number of items per round, if lower than the usual one. */
  limit?: number;
  /** Number of items healed concurrently. Default: 1. */
  atOnce?: number;
  /**
   * Finds at most `limit` items; those never started first, then those last
   * seen before `recheckBefore`.
   */
  find(limit: number, recheckBefore: Date): Promise<Item[]>;
  /** Returns false if the item turned out to be in order. */
  heal(item: Item, signal: AbortSignal): Promise<boolean>;
}): Recovery {
  const postponed = new Postponed<Item>();
  return {
    name: of.name,
    async takeUp({ limit: usual, signal, recheckBefore }) {
      const limit = Math.min(usual, of.limit ?? usual);
      // Items that cannot be healed are found again and again, and must not
      // fill the places of others.
      const beyond = postponed.size;
      const found = await of.find(limit + beyond, recheckBefore);
      const items = inTurns(postponed.without(found).slice(0, limit));
      const taken = await healEach(items, {
        ...of,
        signal,
        heal: postponed.noting(of.heal),
      });
      // What failed while Temporal or PostgreSQL was only coming back does not
      // wait for the next interval.
      const isMore =
        found.length === limit + beyond ||
        taken.looked < items.length ||
        taken.failures.some(isAway);
      return {
        ...taken,
        isBehind: isMore && taken.failures.length < taken.looked,
      };
    },
  };
}

/** Heals items until all are done or the signal aborts. */
export async function healEach<Item extends Dated>(
  items: readonly Item[],
  of: {
    atOnce?: number;
    signal: AbortSignal;
    heal(item: Item, signal: AbortSignal): Promise<boolean>;
  },
): Promise<TakenUp & { looked: number }> {
  const taken = { found: 0, healed: 0, looked: 0, failures: [] as unknown[] };
  let oldestSince: Date | undefined;
  // All runners take their items from the same iterator.
  const queue = items.values();
  const runner = async () => {
    for (const item of queue) {
      if (of.signal.aborted) return;
      taken.looked += 1;
      try {
        if (!(await of.heal(item, of.signal))) continue;
        taken.healed += 1;
      } catch (error) {
        taken.failures.push(error);
      }
      taken.found += 1;
      if (oldestSince === undefined || item.since < oldestSince)
        oldestSince = item.since;
    }
  };
  await Promise.all(Array.from({ length: of.atOnce ?? 1 }, runner));
  return { ...taken, oldestSince };
}

/**
 * Creates a recovery that deletes what has expired, in one statement. `remove`
 * deletes at most `limit` rows and returns their number.
 */
export function removalRecovery(
  name: string,
  remove: (limit: number) => Promise<number>,
): Recovery {
  return {
    name,
    async takeUp({ limit }) {
      const removed = await remove(limit);
      return {
        found: removed,
        healed: removed,
        failures: [],
        isBehind: removed === limit,
      };
    },
  };
}

const FIRST_MS = 60_000;
const LONGEST_MS = 15 * 60_000;
const REMEMBERED_MAX = 5_000;
/**
 * What gRPC says of a server that is away or overloaded: DEADLINE_EXCEEDED,
 * RESOURCE_EXHAUSTED, UNAVAILABLE.
 */
const AWAY: readonly unknown[] = [4, 8, 14];

/**
 * Items that could not be healed, and when each is tried again: after a minute,
 * then twice as long each time, at most a quarter of an hour. An item that
 * changes is another one. While Temporal or PostgreSQL is away nothing is
 * postponed: that is no fault of the item. In memory only, so another worker
 * tries them at once.
 */
class Postponed<Item extends object> {
  readonly #until = new Map<string, { at: number; waitMs: number }>();
  readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  get size(): number {
    return this.#until.size;
  }

  without(items: readonly Item[]): Item[] {
    return items.filter(
      (item) => (this.#until.get(itemKey(item))?.at ?? 0) <= this.now(),
    );
  }

  /** Wraps `heal` so that its failures are remembered. */
  noting<Rest extends unknown[]>(
    heal: (item: Item, ...rest: Rest) => Promise<boolean>,
  ): (item: Item, ...rest: Rest) => Promise<boolean> {
    return async (item, ...rest) => {
      const key = itemKey(item);
      try {
        const healed = await heal(item, ...rest);
        this.#until.delete(key);
        return healed;
      } catch (error) {
        if (!isAway(error)) this.#postpone(key);
        throw error;
      }
    };
  }

  #postpone(key: string): void {
    const waitMs = Math.min(
      (this.#until.get(key)?.waitMs ?? FIRST_MS / 2) * 2,
      LONGEST_MS,
    );
    // Deleted first, so that the map keeps the order of the last failures.
    this.#until.delete(key);
    this.#until.set(key, { at: this.now() + waitMs, waitMs });
    const [oldest] = this.#until.keys();
    if (this.#until.size > REMEMBERED_MAX && oldest !== undefined)
      this.#until.delete(oldest);
  }
}

const itemKey = (item: object): string => JSON.stringify(item);

function isAway(error: unknown): boolean {
  if (
    isConnectionFault(error) ||
    AWAY.includes(Reflect.get(Object(error), 'code'))
  )
    return true;
  return (
    error instanceof Error && error.cause !== undefined && isAway(error.cause)
  );
}

/** The items with the accounts taking turns, each account's in their order. */
function inTurns<Item extends { accountId?: string }>(
  items: readonly Item[],
): Item[] {
  const lines = new Map<string, Item[]>();
  for (const item of items) {
    const line = lines.get(item.accountId ?? '');
    if (line === undefined) lines.set(item.accountId ?? '', [item]);
    else line.push(item);
  }
  const longest = Math.max(
    0,
    ...[...lines.values()].map(({ length }) => length),
  );
  return Array.from({ length: longest }, (_, turn) =>
    [...lines.values()].flatMap((line) => line[turn] ?? []),
  ).flat();
}
