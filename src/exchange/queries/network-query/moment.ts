import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { SourceType } from '../../../contract/primitives.ts';
import type { Store } from '../../platform/database/database.ts';
import { type PartStep, updateAttempt } from './attempt-store.ts';

/** How long a step waits at most for the answer of a source that works on it. */
const MOMENT_MS = 5_000;
const LOOK_EVERY_MS = 100;
/**
 * So many steps of one source wait in a process: the other slots of its queue
 * (`temporal/workers.ts`) ask.
 */
const WAITING_MAX = 8;
/** A step that was killed while it waited is repeated within this time. */
const REPEATED_WITHIN_MS = 60_000;

/**
 * Lets the step that has asked a source wait a moment for its answer. Many
 * sources have it after a second or two, and Temporal Cloud would bill the
 * signal of their callback, a timer and another activity.
 */
export type Moments = ReturnType<typeof createMoments>;

export function createMoments(store: Pick<Store, 'asAccount' | 'asSystem'>) {
  const waiting = new Map<SourceType, number>();
  const watch = createWatch(store);

  async function waitFor(
    step: PartStep,
    untilMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const leftMs = untilMs - Date.now() + REPEATED_WITHIN_MS;
    await store.asAccount(step.accountId, (tx) =>
      updateAttempt(tx, step)
        .set({ watched_until: sql<Date>`now() + ${leftMs} * interval '1 ms'` })
        .execute(),
    );
    await watch(step, untilMs, signal);
    return endWatch(store, step);
  }

  return {
    /**
     * Waits until the source calls back, or `afterMs` have passed. Returns
     * whether its answer is to be fetched now; false: the workflow waits.
     * Rejects when the signal aborts.
     *
     * @param afterMs when the source wants to be asked again; undefined: it
     *   calls back
     */
    async pass(
      step: PartStep,
      afterMs: number | undefined,
      signal: AbortSignal,
    ): Promise<boolean> {
      const now = waiting.get(step.source) ?? 0;
      // Another execution of this step may have been killed while it waited.
      if (now >= WAITING_MAX) return endWatch(store, step);

      const isDueThen = afterMs !== undefined && afterMs <= MOMENT_MS;
      waiting.set(step.source, now + 1);
      try {
        const untilMs = Date.now() + (isDueThen ? afterMs : MOMENT_MS);
        return (await waitFor(step, untilMs, signal)) || isDueThen;
      } finally {
        waiting.set(step.source, (waiting.get(step.source) ?? 1) - 1);
      }
    },
  };
}

/**
 * From now on, a callback signals the workflow. Returns whether one has come
 * before.
 */
async function endWatch(
  store: Pick<Store, 'asAccount'>,
  step: PartStep,
): Promise<boolean> {
  const ended = await store.asAccount(step.accountId, (tx) =>
    updateAttempt(tx, step)
      .set({ watched_until: null })
      .returning('callback_at')
      .executeTakeFirst(),
  );
  return ended !== undefined && ended.callback_at !== null;
}

/** One look a time for all attempts that this process waits for. */
function createWatch(store: Pick<Store, 'asSystem'>) {
  const watched = new Map<string, PartStep>();
  let looking: Promise<ReadonlySet<string>> | undefined;

  const look = async (): Promise<ReadonlySet<string>> => {
    await sleep(LOOK_EVERY_MS);
    looking = undefined;
    return calledBack(store, [...watched.values()]);
  };

  return async (
    step: PartStep,
    untilMs: number,
    signal: AbortSignal,
  ): Promise<void> => {
    const key = keyOf(step);
    watched.set(key, step);
    try {
      while (Date.now() < untilMs) {
        looking ??= look();
        if ((await looking).has(key)) return;
        signal.throwIfAborted();
      }
    } finally {
      watched.delete(key);
    }
  };
}

const keyOf = ({
  requestId,
  source,
  attempt,
}: Pick<PartStep, 'requestId' | 'source' | 'attempt'>): string =>
  `${requestId}/${source}/${attempt}`;

/** Which of these attempts their source has called back, or have ended. */
async function calledBack(
  store: Pick<Store, 'asSystem'>,
  steps: readonly PartStep[],
): Promise<ReadonlySet<string>> {
  const rows = await store.asSystem((tx) =>
    tx.db
      .selectFrom('network_query_attempt')
      .select(['query_id as requestId', 'source', 'attempt'])
      .where(
        'query_id',
        '=',
        sql<string>`any(${steps.map(({ requestId }) => requestId)}::uuid[])`,
      )
      .where(({ eb, or }) =>
        or([eb('callback_at', 'is not', null), eb('status', '!=', 'running')]),
      )
      .execute(),
  );
  return new Set(rows.map(keyOf));
}
