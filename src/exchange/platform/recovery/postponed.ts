import { isConnectionFault } from '../database/connection-fault.ts';

const FIRST_MS = 60_000;
const LONGEST_MS = 15 * 60_000;
const REMEMBERED_MAX = 5_000;
/** What gRPC says of a server that is away or overloaded: DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNAVAILABLE. */
const AWAY: readonly unknown[] = [4, 8, 14];

/**
 * Items that could not be healed, and when each is tried again: after a minute, then twice as long each time, at most a quarter
 * of an hour. An item that changes is another one. While Temporal or PostgreSQL is away nothing is postponed: that is no
 * fault of the item. In memory only, so another worker tries them at once.
 */
export class Postponed<Item extends object> {
  readonly #until = new Map<string, { at: number; waitMs: number }>();

  constructor(readonly now: () => number = Date.now) {}

  get size(): number {
    return this.#until.size;
  }

  without(items: readonly Item[]): Item[] {
    return items.filter((item) => (this.#until.get(keyOf(item))?.at ?? 0) <= this.now());
  }

  /** The same `heal`, with its failures remembered. */
  noting<Rest extends unknown[]>(
    heal: (item: Item, ...rest: Rest) => Promise<boolean>,
  ): (item: Item, ...rest: Rest) => Promise<boolean> {
    return async (item, ...rest) => {
      const key = keyOf(item);
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
    const waitMs = Math.min((this.#until.get(key)?.waitMs ?? FIRST_MS / 2) * 2, LONGEST_MS);
    // Deleted first, so that the map keeps the order of the last failures.
    this.#until.delete(key);
    this.#until.set(key, { at: this.now() + waitMs, waitMs });
    const [oldest] = this.#until.keys();
    if (this.#until.size > REMEMBERED_MAX && oldest !== undefined) this.#until.delete(oldest);
  }
}

const keyOf = (item: object): string => JSON.stringify(item);

function isAway(error: unknown): boolean {
  if (isConnectionFault(error) || AWAY.includes(Reflect.get(Object(error), 'code'))) return true;
  return error instanceof Error && error.cause !== undefined && isAway(error.cause);
}

/** The items with the accounts taking turns, each account's in their order. */
export function inTurns<Item extends { accountId?: string }>(items: readonly Item[]): Item[] {
  const lines = new Map<string, Item[]>();
  for (const item of items) {
    const line = lines.get(item.accountId ?? '');
    if (line === undefined) lines.set(item.accountId ?? '', [item]);
    else line.push(item);
  }
  const longest = Math.max(0, ...[...lines.values()].map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) =>
    [...lines.values()].flatMap((line) => line[turn] ?? []),
  ).flat();
}
