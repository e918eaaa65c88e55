import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../database/database.ts';
import { type CountedWork, countStart, deleteOldStarts, forgetStarts } from './activity-start-store.ts';
import type { Recovery } from './recovery.ts';

/** From this many starts without an end on, work runs alone in its process. */
export const STARTS_IN_COMPANY = 2;
/** After this many starts at one place without an end, work is given up. */
export const STARTS_MAX = 5;
/** What has not ended its process within this time makes room for the next one. */
const ALONE_MS = 20_000;

/** Work was given up: its process ended each time it was begun. */
export class ProcessEndedTooOften extends Error {
  override readonly name = 'ProcessEndedTooOften';

  constructor() {
    super(`The exchange stopped unexpectedly ${STARTS_MAX} times at this point`);
  }
}

/** Runs work on foreign data so that work which ends its process ends as a failure, not in a loop. */
export interface StartGuard {
  /** Throws ProcessEndedTooOften instead of beginning `work` once more; else what `work` throws. */
  run<T>(of: CountedWork & { accountId: string }, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/**
 * Starts are counted in PostgreSQL before the work begins, and forgotten when it ends in any way. Whatever else ran in the
 * process has a start without an end too; so work under suspicion runs one piece at a time, and only the one that runs is
 * counted: what is innocent gets through. One guard a process.
 */
export function createStartGuard(store: Pick<Store, 'asAccount'>): StartGuard {
  let turn: Promise<unknown> = Promise.resolve();

  function alone<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    const ended = result.catch(() => undefined);
    turn = turn.then(() => Promise.race([ended, delay(ALONE_MS, undefined, { ref: false })]));
    return result;
  }

  return {
    async run({ accountId, ...of }, signal, work) {
      const begins = (startsMax: number) => store.asAccount(accountId, (tx) => countStart(tx, of, startsMax));
      const toItsEnd = async () => {
        try {
          return await work();
        } finally {
          // A count too many is harmless; the work's own result is not to be lost over it.
          await forget(accountId, of.name).catch(() => undefined);
        }
      };
      if (await begins(STARTS_IN_COMPANY)) return toItsEnd();
      return alone(async () => {
        signal.throwIfAborted();
        if (await begins(STARTS_MAX)) return toItsEnd();
        await forget(accountId, of.name);
        throw new ProcessEndedTooOften();
      });
    },
  };

  function forget(accountId: string, name: string): Promise<void> {
    return store.asAccount(accountId, (tx) => forgetStarts(tx, name));
  }
}

/** What `reconcile` clears away: counts of work that was never taken up again. */
export const activityStartRecovery = ({ store }: { store: Pick<Store, 'asSystem'> }): Recovery => ({
  name: 'counts of starts',
  takeUp: (limit) => store.asSystem((tx) => deleteOldStarts(tx, limit)),
});
