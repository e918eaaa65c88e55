import type { Client } from '@temporalio/client';
import type { Logger } from '../../lib/logger.ts';
import { SCHEDULE_RULES } from '../../shared/monitoring/monitoring-schedule.ts';
import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import { createBackground } from '../platform/workflows/start-workflow.ts';
import { foundSchedules } from './found-schedules.ts';
import {
  adoptSchedules,
  driftedSchedules,
  forgetSchedule,
  holdSchedule,
  releaseSchedule,
  type ScheduleRef,
  schedulesToCheck,
  settleSchedule,
} from './schedule-store.ts';
import { isUntouched, writeSchedule } from './write-schedule.ts';

/** The Temporal Schedules of the cohorts' scheduled monitoring (`settings.monitoring`). */
export interface CohortSchedules {
  /** A cohort was created, changed or deleted, and that is committed: its schedules follow in the background. */
  cohortChanged(accountId: string, cohortId: string): void;
  /** The same, awaited. Throws when Temporal or the database does not answer; `reconcile` makes up for it. */
  sync(cohortId: string): Promise<void>;
  /** Schedules that are not as the settings want them, whatever the reason. */
  recovery: Recovery;
  drain(): Promise<void>;
}

/** Longer than the calls to Temporal for one schedule may take together. */
const HOLD_MS = 60_000;
/** How long a schedule is trusted to be in Temporal as it was written. */
const CHECK_AFTER_MS = 60 * 60_000;
/** Schedules looked at in one round of `reconcile`. */
const CHECKS_MAX = 100;
/** Each may have taken as long as Temporal is waited for; other left-over work waits behind them. */
const FAILURES_MAX = 3;
/** A cohort that is changed again and again meanwhile is left to whoever comes next. */
const ROUNDS_MAX = 5;

export function createCohortSchedules(
  deps: { store: Store; temporal: Client; logger: Logger },
  { checkAfterMs = CHECK_AFTER_MS } = {},
): CohortSchedules {
  const { store, temporal, logger } = deps;
  const background = createBackground(logger);
  let nextSearchAt = 0;

  const drifted = (limit: number, cohortId?: string): Promise<ScheduleRef[]> =>
    store.asSystem((tx) => driftedSchedules(tx, { rules: SCHEDULE_RULES, limit, cohortId }));

  /**
   * Writes one schedule as it is wanted; with `look` even if it should be right, unless Temporal says that it is. Of two
   * at once the later one could be overtaken by the earlier, so one of them holds the schedule; the other leaves it.
   * Resolves to whether it was written.
   */
  async function bringInLine(ref: ScheduleRef, { look = false } = {}): Promise<boolean> {
    const held = await store.asSystem((tx) =>
      holdSchedule(tx, ref, { rules: SCHEDULE_RULES, forMs: HOLD_MS }),
    );
    if (held === undefined) return false;
    try {
      const { wanted, inLine, fingerprint } = held;
      const isRight = inLine && (!look || (await isUntouched(temporal, ref, held)));
      if (inLine && !isRight)
        logger.warn(
          { cohortId: ref.cohortId, kind: ref.kind },
          'a monitoring schedule was changed or deleted from outside; it is made what the settings want',
        );
      const written =
        isRight && wanted !== undefined
          ? { applied: wanted, fingerprint }
          : await writeSchedule(deps, ref, wanted);
      await store.asSystem((tx) =>
        written === undefined
          ? forgetSchedule(tx, ref, held)
          : settleSchedule(tx, ref, held, { ...written, rules: SCHEDULE_RULES }),
      );
      return !isRight;
    } catch (error) {
      await store.asSystem((tx) => releaseSchedule(tx, ref, held));
      throw error;
    }
  }

  /** Whoever finds a schedule held leaves it to the holder, so the holder looks again after it let go. */
  async function sync(cohortId: string): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const refs = await drifted(2, cohortId);
      if (refs.length === 0) return;
      for (const ref of refs) await bringInLine(ref);
    }
  }

  /** Schedules whose cohort was deleted while nobody looked, as after a restored backup, are in no book of ours. */
  async function searchInTemporal(): Promise<void> {
    if (Date.now() < nextSearchAt) return;
    const found = await foundSchedules(temporal);
    await store.asSystem((tx) => adoptSchedules(tx, found));
    nextSearchAt = Date.now() + checkAfterMs;
  }

  async function takeUp(limit: number): Promise<number> {
    const failures: unknown[] = [];
    let written = 0;
    const each = async (refs: readonly ScheduleRef[], options?: { look: boolean }) => {
      for (const ref of refs) {
        if (failures.length === FAILURES_MAX) return;
        try {
          if (await bringInLine(ref, options)) written += 1;
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await searchInTemporal().catch((error: unknown) => failures.push(error));
    await each(await drifted(limit));
    const toCheck = { olderThanMs: checkAfterMs, limit: CHECKS_MAX };
    await each(await store.asSystem((tx) => schedulesToCheck(tx, toCheck)), { look: true });
    // One that cannot be written keeps no other waiting, but a Temporal that does not answer ends the round.
    if (failures.length > 0) throw failures[0];
    return written;
  }

  return {
    cohortChanged: (_accountId, cohortId) =>
      background.run(
        'schedules of a cohort do not follow it yet; reconcile will see to it',
        { cohortId },
        () => sync(cohortId),
      ),
    sync,
    recovery: { name: 'monitoring schedules', takeUp },
    drain: () => background.drain(),
  };
}
