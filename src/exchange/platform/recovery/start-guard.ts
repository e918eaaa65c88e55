import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import {
  type AccountTx,
  notFlushed,
  type Store,
  type SystemTx,
} from '../database/database.ts';
import { type Recovery, removalRecovery } from './recovery.ts';

/**
 * After this many starts without an end, suspect work runs one piece at a time.
 */
export const STARTS_IN_COMPANY = 2;
/**
 * After this many starts at the same progress without an end, work is given up.
 */
export const STARTS_MAX = 5;
/**
 * Suspect work that has run this long without ending its process no longer
 * blocks the next one.
 */
const ALONE_MS = 20_000;

/** Work was given up because its process ended each time it was started. */
export class ProcessEndedTooOften extends Error {
  override readonly name = 'ProcessEndedTooOften';

  constructor() {
    super(
      `The exchange stopped unexpectedly ${STARTS_MAX} times at this point`,
    );
  }
}

export type StartGuard = ReturnType<typeof createStartGuard>;

/**
 * How often a process tries again to remove itself from counts that it could
 * not delete, because PostgreSQL was away.
 */
const FORGET_AGAIN_MS = 5_000;
const THIS_PROCESS = randomUUID();

/**
 * Runs work on external data, so that work that crashes its process fails in
 * the end instead of being repeated for ever. Starts are counted in PostgreSQL
 * before the work begins, and the count is deleted when the work ends in any
 * way. A crash leaves counts of all work that ran in the process; therefore
 * suspect work then runs one piece at a time, and is counted only when it runs,
 * so that innocent work completes.
 */
export function createStartGuard(
  store: Pick<Store, 'asAccount' | 'callAsAccount'>,
  by = THIS_PROCESS,
) {
  let turn: Promise<unknown> = Promise.resolve();
  /** Work that has ended here and is still counted, with its account. */
  const remembered = new Map<string, string>();

  function alone<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    const ended = result.catch(() => undefined);
    turn = turn.then(() =>
      Promise.race([ended, delay(ALONE_MS, undefined, { ref: false })]),
    );
    return result;
  }

  return {
    /**
     * Runs `work` and returns its result. Throws ProcessEndedTooOften instead
     * if it has been started too often.
     */
    async run<T>(
      { accountId, ...counted }: CountedWork & { accountId: string },
      signal: AbortSignal,
      work: () => Promise<T>,
    ): Promise<T> {
      const mayStart = (startsMax: number) =>
        recordStart(store, accountId, { ...counted, by }, startsMax);
      remembered.delete(counted.name);
      const runToEnd = async () => {
        try {
          return await work();
        } finally {
          // If this fails, the count is removed later; the result of the work
          // must not be lost.
          await forget(accountId, counted.name).catch(() => {
            if (remembered.size === 0)
              setTimeout(forgetAgain, FORGET_AGAIN_MS).unref();
            remembered.set(counted.name, accountId);
          });
        }
      };
      if (await mayStart(STARTS_IN_COMPANY)) return runToEnd();
      return alone(async () => {
        signal.throwIfAborted();
        if (await mayStart(STARTS_MAX)) return runToEnd();
        await forget(accountId, counted.name);
        throw new ProcessEndedTooOften();
      });
    },
  };

  /**
   * Deletes the count of work that has ended, successfully or not: it did not
   * end its process.
   */
  async function forget(accountId: string, name: string): Promise<void> {
    await store.callAsAccount(
      accountId,
      sql`select forget_start(${accountId}, ${name}), ${notFlushed}`,
    );
  }

  async function forgetAgain(): Promise<void> {
    for (const [name, accountId] of remembered) {
      const removed = store.asAccount(accountId, (tx) =>
        deleteStartsBy(tx, name, by),
      );
      await removed.then(
        () => remembered.delete(name),
        () => undefined,
      );
    }
    if (remembered.size > 0) setTimeout(forgetAgain, FORGET_AGAIN_MS).unref();
  }
}

/** Deletes old counts of work that was never continued. */
export const activityStartRecovery = ({
  store,
}: {
  store: Pick<Store, 'asSystem'>;
}): Recovery =>
  removalRecovery('counts of starts', (limit) =>
    store.asSystem((tx) => deleteOldStarts(tx, limit)),
  );

/** A unit of work, named by opaque ids, and its progress. */
interface CountedWork {
  name: string;
  progress: string;
}

/**
 * Counts a start by a process, before the work begins. Returns false without
 * counting if `startsMax` other processes have started it at the same progress
 * and not said how it ended. What a process has started before does not count:
 * it lives.
 */
async function recordStart(
  store: Pick<Store, 'callAsAccount'>,
  accountId: string,
  { name, progress, by }: CountedWork & { by: string },
  startsMax: number,
): Promise<boolean> {
  const [row] = await store.callAsAccount(
    accountId,
    sql<{ isCounted: boolean }>`
      select record_start(${accountId}, ${name}, ${progress}, ${by}, ${startsMax}) as "isCounted", ${notFlushed}`,
  );
  return row?.isCounted === true;
}

/**
 * Removes a process from the count of work that has ended there some time ago.
 * Others may have started it since.
 */
async function deleteStartsBy(
  tx: AccountTx,
  name: string,
  by: string,
): Promise<void> {
  await sql`update activity_start set processes = array_remove(processes, ${by}),
    starts = cardinality(array_remove(processes, ${by})) where work = ${name}`.execute(
    tx.db,
  );
  await tx.db
    .deleteFrom('activity_start')
    .where('work', '=', name)
    .where('starts', '=', 0)
    .execute();
}

/**
 * Deletes counts older than 30 days, of work that was never continued. Returns
 * the number of rows.
 */
async function deleteOldStarts(tx: SystemTx, limit: number): Promise<number> {
  const deleted = await sql`
    delete from activity_start where (account_id, work) in (
      select account_id, work from activity_start where started_at < now() - interval '30 days' limit ${limit})`.execute(
    tx.db,
  );
  return Number(deleted.numAffectedRows ?? 0);
}
