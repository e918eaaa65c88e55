import type { Client } from '@temporalio/client';
import type { Logger } from '../../lib/logger.ts';
import { SCHEDULE_RULES } from '../../shared/monitoring/monitoring-schedule.ts';
import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import { createBackground } from '../platform/workflows/start-workflow.ts';
import { listMonitoringSchedules } from './list-schedules.ts';
import {
  adoptSchedules,
  deleteScheduleRow,
  driftedSchedules,
  leaseSchedule,
  recordWritten,
  releaseSchedule,
  type ScheduleRef,
  schedulesToCheck,
} from './schedule-store.ts';
import { isUntouched, writeSchedule } from './write-schedule.ts';

/** The Temporal Schedules of the cohorts' scheduled monitoring (`settings.monitoring`). */
export interface CohortSchedules {
  /** Call after a cohort was created, changed or deleted and committed: updates its schedules in the background. */
  cohortChanged(accountId: string, cohortId: string): void;
  /** Updates the schedules of a cohort. Throws when Temporal or the database does not answer; `reconcile` repeats it. */
  sync(cohortId: string): Promise<void>;
  /** Corrects schedules that differ from the settings, whatever the reason. */
  recovery: Recovery;
  drain(): Promise<void>;
}

/** Duration of the lease on a schedule: longer than all calls to Temporal for one schedule may take together. */
const LEASE_MS = 60_000;
/** A schedule is compared with Temporal again after this time. */
const CHECK_AFTER_MS = 60 * 60_000;
/** Schedules compared with Temporal in one run of `reconcile`. */
const CHECKS_MAX = 100;
/** A run of the recovery stops after this many failures: each may have waited for a timeout, and other recoveries follow. */
const FAILURES_MAX = 3;
/** If a cohort keeps changing meanwhile, `sync` stops after this many rounds; the next change or `reconcile` continues. */
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
   * Brings one schedule in line with the settings. With `compare`, a schedule that should be in line is compared with Temporal
   * too. Only the process with the lease writes a schedule, so that an older state never overwrites a newer one; without the
   * lease this does nothing. Returns whether the schedule was written.
   */
  async function bringInLine(ref: ScheduleRef, { compare = false } = {}): Promise<boolean> {
    const leased = await store.asSystem((tx) =>
      leaseSchedule(tx, ref, { rules: SCHEDULE_RULES, forMs: LEASE_MS }),
    );
    if (leased === undefined) return false;
    try {
      const { wanted, inLine, fingerprint } = leased;
      const isRight = inLine && (!compare || (await isUntouched(temporal, ref, leased)));
      if (inLine && !isRight)
        logger.warn(
          { cohortId: ref.cohortId, kind: ref.kind },
          'a monitoring schedule was changed or deleted from outside; restoring it from the settings',
        );
      const written =
        isRight && wanted !== undefined
          ? { applied: wanted, fingerprint }
          : await writeSchedule(deps, ref, wanted);
      await store.asSystem((tx) =>
        written === undefined
          ? deleteScheduleRow(tx, ref, leased)
          : recordWritten(tx, ref, leased, { ...written, rules: SCHEDULE_RULES }),
      );
      return !isRight;
    } catch (error) {
      await store.asSystem((tx) => releaseSchedule(tx, ref, leased));
      throw error;
    }
  }

  /** A process that finds a schedule leased skips it, so the holder of the lease looks for new differences afterwards. */
  async function sync(cohortId: string): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const refs = await drifted(2, cohortId);
      if (refs.length === 0) return;
      for (const ref of refs) await bringInLine(ref);
    }
  }

  /**
   * Finds schedules in Temporal that have no row, as after restoring a backup, and inserts one, so that they are compared with
   * the settings. At most once per `checkAfterMs`, because it lists all schedules.
   */
  async function adoptUnknownSchedules(): Promise<void> {
    if (Date.now() < nextSearchAt) return;
    const listed = await listMonitoringSchedules(temporal);
    await store.asSystem((tx) => adoptSchedules(tx, listed));
    nextSearchAt = Date.now() + checkAfterMs;
  }

  async function takeUp(limit: number): Promise<number> {
    const failures: unknown[] = [];
    let written = 0;
    const each = async (refs: readonly ScheduleRef[], options?: { compare: boolean }) => {
      for (const ref of refs) {
        if (failures.length === FAILURES_MAX) return;
        try {
          if (await bringInLine(ref, options)) written += 1;
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await adoptUnknownSchedules().catch((error: unknown) => failures.push(error));
    await each(await drifted(limit));
    const toCheck = { olderThanMs: checkAfterMs, limit: CHECKS_MAX };
    await each(await store.asSystem((tx) => schedulesToCheck(tx, toCheck)), { compare: true });
    // One failed schedule does not stop the others, but several end the run: Temporal probably does not answer.
    if (failures.length > 0) throw failures[0];
    return written;
  }

  return {
    cohortChanged: (_accountId, cohortId) =>
      background.run(
        'the monitoring schedules of a cohort could not be updated; reconcile does it later',
        { cohortId },
        () => sync(cohortId),
      ),
    sync,
    recovery: { name: 'monitoring schedules', takeUp },
    drain: () => background.drain(),
  };
}
