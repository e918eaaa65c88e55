import { setTimeout as delay } from 'node:timers/promises';
import { Counter, Gauge, type Registry } from 'prom-client';
import type {
  KindReconciled,
  Reconciled,
  ReconcilePart,
  ReconcilePosition,
} from '../../../contract/reconcile-workflow.ts';
import { anySignal } from '../../../lib/abort-signals.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { RoundCount } from './reconcile-state-store.ts';
import type { Recovery, RecoveryRound, TakenUp } from './recovery.ts';

/** Maximum number of items of each kind per round. */
const BATCH = 500;
/** Kinds that work at the same time. */
const KINDS_AT_ONCE = 4;
/** Time for one kind in a round; what remains is left to the next round. */
const KIND_MS = 20_000;
/**
 * A round begins no kind after this time: the workflow allows 4 minutes, and a
 * kind takes up to 25 s.
 */
const ROUND_MS = 3 * 60_000;
/**
 * A kind that ignores the end of its time for this long no longer delays the
 * round.
 */
const OVERTIME_MS = 5_000;

export type Reconciler = ReturnType<typeof createReconciler>;

/**
 * Completes what a crash or an outage left unfinished. Running it twice in
 * parallel is harmless.
 */
export function createReconciler(deps: {
  roundCount: RoundCount;
  recoveries: readonly Recovery[];
  /** Whether patients are being imported. Kinds that can wait give way then. */
  isImporting: () => Promise<boolean>;
  logger: Pick<Logger, 'info' | 'warn'>;
  metrics?: ReturnType<typeof createReconcileMetrics>;
  kindMs?: number;
  overtimeMs?: number;
  roundMs?: number;
}) {
  const {
    roundCount,
    isImporting,
    logger,
    metrics,
    kindMs = KIND_MS,
    overtimeMs = OVERTIME_MS,
  } = deps;
  const { roundMs = ROUND_MS } = deps;
  const recoveries = deps.recoveries.map((recovery) =>
    recovery.canWait === true ? givingWay(recovery, isImporting) : recovery,
  );
  /** Kinds that still work, perhaps since an earlier round. */
  const atWork = new Set<string>();
  /**
   * What kinds have done that ended after their round, with the cursor at which
   * they began.
   */
  const endedLate = new Map<
    string,
    { from: string | undefined; taken: TakenUp }
  >();
  /**
   * The kind with which the next round begins: the first that the last one did
   * not reach.
   */
  let next = 0;

  async function takeUp(
    recovery: Recovery,
    place: Pick<RecoveryRound, 'cursor' | 'recheckBefore' | 'restoredAt'>,
    end: AbortSignal,
  ): Promise<TakenUp> {
    const { name } = recovery;
    const failed = (error: unknown): TakenUp => ({
      found: 0,
      healed: 0,
      failures: [error],
      cursor: place.cursor,
    });
    const late = endedLate.get(name);
    endedLate.delete(name);
    if (late !== undefined && late.from === place.cursor) return late.taken;
    if (atWork.has(name))
      return failed(new Error('the previous round of this kind has not ended'));
    atWork.add(name);
    // Aborted when the kind has ended, so that it leaves no listener on the
    // signal of the whole round.
    const ended = new AbortController();
    const signal = anySignal([end, AbortSignal.timeout(kindMs), ended.signal]);
    const work = recovery
      .takeUp({ ...place, limit: BATCH, signal })
      .catch(failed)
      .finally(() => atWork.delete(name));
    const overtime = new AbortController();
    const tooLate = new Promise<TakenUp>((resolve) => {
      signal.addEventListener('abort', () => {
        delay(overtimeMs, undefined, { signal: overtime.signal }).then(
          () => {
            // It goes on. What it has done by its end counts in the next round,
            // so that a slow slice does not stop its kind for good.
            void work.then((taken) =>
              endedLate.set(name, { from: place.cursor, taken }),
            );
            resolve(
              failed(
                new Error(`did not end within ${Math.round(kindMs / 1000)} s`),
              ),
            );
          },
          () => undefined,
        );
      });
    });
    return Promise.race([work, tooLate]).finally(() => {
      overtime.abort();
      ended.abort();
    });
  }

  function report(name: string, taken: TakenUp): KindReconciled {
    const { found, healed, failures, oldestSince } = taken;
    const failed = failures.length;
    const oldestSeconds =
      oldestSince === undefined
        ? undefined
        : Math.round((Date.now() - oldestSince.getTime()) / 1000);
    const done = { found, healed, failed, oldestSeconds };
    metrics?.record(name, done);
    if (failed > 0)
      logger.warn(
        { kind: name, ...done, err: failures[0] },
        'unfinished work could not be completed',
      );
    else if (healed > 0)
      logger.info({ kind: name, ...done }, 'completed unfinished work');
    return done;
  }

  return {
    /**
     * Runs all kinds, each for a limited time; none waits for, or fails because
     * of, another one.
     */
    async round(
      { rounds, cursors }: ReconcilePosition = { rounds: 0, cursors: {} },
      signal: AbortSignal,
    ): Promise<Reconciled> {
      const { suspicion, ...begun } = await roundCount.begin(rounds);
      if (suspicion !== undefined)
        logger.warn(
          { suspicion, rounds },
          'Temporal and PostgreSQL differ as after a restore of one of them; all open work is looked at again',
        );
      const result: Reconciled = {
        rounds,
        kinds: {},
        cursors: {},
        suspicion,
        isBehind: false,
      };
      const paused = new Set<ReconcilePart>();
      const keepCursor = (name: string, cursor = cursors[name]) => {
        if (cursor !== undefined) result.cursors[name] = cursor;
      };
      const runKind = async (recovery: Recovery) => {
        const { name } = recovery;
        const part = recovery.deletes === true ? 'deleting' : 'healing';
        // Read before each kind, so that a pause does not wait for the end of a
        // long round.
        if (await roundCount.isPaused(part)) {
          paused.add(part);
          keepCursor(name);
          return;
        }
        const taken = await takeUp(
          recovery,
          { ...begun, cursor: cursors[name] },
          signal,
        );
        const done = report(name, taken);
        if (done.found + done.failed > 0) result.kinds[name] = done;
        if (taken.cursor !== undefined) keepCursor(name, taken.cursor);
        if (taken.isBehind === true) result.isBehind = true;
      };
      // All runners take their kinds from the same iterator.
      const queue = [
        ...recoveries.slice(next),
        ...recoveries.slice(0, next),
      ].values();
      const endsAt = performance.now() + roundMs;
      next = 0;
      const runner = async () => {
        for (const recovery of queue) {
          if (signal.aborted) return;
          // A round that is cut off from outside loses all that it has done, so
          // it ends by itself; the others come next.
          if (performance.now() >= endsAt) {
            next ||= recoveries.indexOf(recovery);
            result.isBehind = true;
            keepCursor(recovery.name);
          } else {
            await runKind(recovery);
          }
        }
      };
      await Promise.all(Array.from({ length: KINDS_AT_ONCE }, runner));
      signal.throwIfAborted();
      if (paused.size > 0) result.paused = [...paused].sort();
      result.rounds = await roundCount.end(rounds);
      return result;
    },
  };
}

/** A backlog waits at most this long, even if one import follows another. */
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * The same recovery, but while patients are imported it waits: both would use
 * the same cores and tables, and a caller waits for the import. It does not
 * wait longer than ten minutes with work left; then it works beside imports
 * until all is done.
 */
export function givingWay(
  recovery: Recovery,
  isImporting: () => Promise<boolean>,
  {
    longestWaitMs = LONGEST_WAIT_MS,
    now = Date.now,
  }: { longestWaitMs?: number; now?: () => number } = {},
): Recovery {
  let waitingSince: number | undefined;
  return {
    ...recovery,
    async takeUp(round) {
      if (await isImporting()) {
        waitingSince ??= now();
        if (now() - waitingSince < longestWaitMs)
          return {
            found: 0,
            healed: 0,
            failures: [],
            isBehind: true,
            cursor: round.cursor,
          };
      }
      const taken = await recovery.takeUp(round);
      if (taken.isBehind !== true) waitingSince = undefined;
      return taken;
    },
  };
}

/**
 * An age that is older than this is no longer shown: another worker has made
 * the newer rounds.
 */
const SHOWN_MS = 5 * 60_000;

export function createReconcileMetrics(registry: Registry) {
  const counter = (name: string, help: string) =>
    new Counter({
      name,
      help,
      labelNames: ['kind'] as const,
      registers: [registry],
    });
  const found = counter(
    'reconcile_found_total',
    'Unfinished items found by reconcile, by kind',
  );
  const healed = counter(
    'reconcile_healed_total',
    'Items that reconcile completed or started again, by kind',
  );
  const failed = counter(
    'reconcile_failed_total',
    'Items that reconcile could not complete, by kind',
  );
  const oldest = new Gauge({
    name: 'reconcile_oldest_seconds',
    help: 'Age of the oldest unfinished item that the last round of reconcile found, by kind; 0 if it found none',
    labelNames: ['kind'] as const,
    registers: [registry],
    collect() {
      if (Date.now() - recordedAt > SHOWN_MS) this.reset();
    },
  });
  let recordedAt = 0;
  return {
    record(kind: string, done: KindReconciled) {
      recordedAt = Date.now();
      found.inc({ kind }, done.found);
      healed.inc({ kind }, done.healed);
      failed.inc({ kind }, done.failed);
      oldest.set({ kind }, done.oldestSeconds ?? 0);
    },
  };
}
