import type { Client } from '@temporalio/client';
import { NETWORK_QUERIES_PER_MINUTE } from '../../../contract/query-limits.ts';
import { parseCohortMonitoringId } from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';
import {
  deleteMonitoringSchedule,
  describeMonitoringSchedule,
  monitoringFingerprint,
  OFF_NOTE,
  putMonitoringSchedule,
  switchOffMonitoringSchedule,
} from '../../../shared/monitoring/monitoring-control.ts';
import {
  type MonitoringPlan,
  SCHEDULE_RULES,
} from '../../../shared/monitoring/monitoring-schedule.ts';
import { monitoringHoursSchema } from '../../../shared/monitoring/monitoring-slot.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import type { Store } from '../../platform/database/database.ts';
import type {
  Recovery,
  RecoveryRound,
  TakenUp,
} from '../../platform/recovery/recovery.ts';
import { createBackground } from '../../platform/workflows/start-workflow.ts';
import {
  adoptSchedules,
  deleteScheduleRow,
  driftedSchedules,
  type LeasedSchedule,
  leaseSchedule,
  releaseSchedule,
  type ScheduleRef,
  schedulesToCheck,
  sliceEnd,
  type WrittenSchedule,
} from './schedule-store.ts';
import type { WantedSchedule } from './tables.ts';

export type CohortSchedules = ReturnType<typeof createCohortSchedules>;

/**
 * Duration of the lease on a schedule: longer than all calls to Temporal for
 * one schedule may take together.
 */
const LEASE_MS = 60_000;
/** A schedule is compared with Temporal again after this time. */
const CHECK_AFTER_MS = 60 * 60_000;
/**
 * Cohorts whose settings are compared with what was last written, in one round
 * of `reconcile`.
 */
const SLICE = 2_000;
/**
 * Schedules compared with Temporal in one round of `reconcile`, if its time
 * allows: with 100, more than 6,000 were not all compared within the hour.
 */
const CHECKS_MAX = 1_000;
/** Schedules read from Temporal's list in one round. */
const LISTED_MAX = 2_000;
/**
 * A round stops after this many failures, because each may have waited for a
 * timeout.
 */
const FAILURES_MAX = 3;
/**
 * If a cohort keeps changing meanwhile, `sync` stops after this many rounds;
 * the next change or `reconcile` continues.
 */
const ROUNDS_MAX = 5;

/**
 * The Temporal Schedules of the cohorts' scheduled monitoring
 * (`settings.monitoring`).
 */
export function createCohortSchedules(
  deps: { store: Store; temporal: Client; logger: Logger },
  { checkAfterMs = CHECK_AFTER_MS } = {},
) {
  const { store, temporal, logger } = deps;
  const background = createBackground(logger);
  const listing = createScheduleListing(temporal);
  let nextSearchAt = 0;

  const drifted = (limit: number, cohortId: string): Promise<ScheduleRef[]> =>
    store.asSystem((tx) =>
      driftedSchedules(tx, { rules: SCHEDULE_RULES, limit, cohortId }),
    );

  /**
   * Brings one schedule in line with the settings. With `compare`, a schedule
   * that should be in line is compared with Temporal too. Only the process with
   * the lease writes a schedule, so that an older state never overwrites a
   * newer one; without the lease this does nothing. Returns whether the
   * schedule was written.
   */
  async function bringInLine(
    ref: ScheduleRef,
    { compare = false } = {},
  ): Promise<boolean> {
    const leased = await store.asSystem((tx) =>
      leaseSchedule(tx, ref, { rules: SCHEDULE_RULES, forMs: LEASE_MS }),
    );
    if (leased === undefined) return false;
    try {
      const { wanted, inLine, fingerprint } = leased;
      const isRight =
        inLine && (!compare || (await isUntouched(temporal, ref, leased)));
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
          : releaseSchedule(tx, ref, leased, {
              ...written,
              rules: SCHEDULE_RULES,
            }),
      );
      return !isRight;
    } catch (error) {
      await store.asSystem((tx) => releaseSchedule(tx, ref, leased));
      throw error;
    }
  }

  /**
   * Updates the schedules of a cohort. Throws when Temporal or the database
   * does not answer; `reconcile` repeats it. A process that finds a schedule
   * leased skips it, so the holder of the lease looks for new differences
   * afterwards.
   */
  async function sync(cohortId: string): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const refs = await drifted(2, cohortId);
      if (refs.length === 0) return;
      for (const ref of refs) await bringInLine(ref);
    }
  }

  /**
   * Finds schedules in Temporal that have no row, as after restoring a backup,
   * and inserts one, so that they are compared with the settings. Reads the
   * list of all schedules part by part, and begins again `checkAfterMs` after
   * its end.
   */
  async function adoptUnknownSchedules(): Promise<void> {
    if (Date.now() < nextSearchAt) return;
    const { listed, isEnd } = await listing.next(LISTED_MAX);
    await store.asSystem((tx) => adoptSchedules(tx, listed));
    if (isEnd) nextSearchAt = Date.now() + checkAfterMs;
  }

  async function takeUp({
    limit,
    signal,
    cursor,
    restoredAt,
  }: RecoveryRound): Promise<TakenUp> {
    const failures: unknown[] = [];
    let written = 0;
    const each = async (
      refs: readonly ScheduleRef[],
      options?: { compare: boolean },
    ) => {
      for (const ref of refs) {
        if (failures.length === FAILURES_MAX || signal.aborted) return;
        try {
          if (await bringInLine(ref, options)) written += 1;
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await adoptUnknownSchedules().catch((error: unknown) =>
      failures.push(error),
    );
    const upTo = await store.asSystem((tx) =>
      sliceEnd(tx, { after: cursor, size: SLICE }),
    );
    const inSlice = await store.asSystem((tx) =>
      driftedSchedules(tx, {
        rules: SCHEDULE_RULES,
        limit,
        range: { after: cursor, upTo },
      }),
    );
    await each(inSlice);
    const before = new Date(
      Math.max(Date.now() - checkAfterMs, restoredAt?.getTime() ?? 0),
    );
    const toCheck = { before, limit: CHECKS_MAX };
    await each(await store.asSystem((tx) => schedulesToCheck(tx, toCheck)), {
      compare: true,
    });
    // A full slice is not finished: the next round repeats it, in another
    // order.
    const next = inSlice.length === limit ? cursor : upTo;
    return {
      found: written + failures.length,
      healed: written,
      failures,
      cursor: next,
    };
  }

  return {
    /**
     * Call after a cohort was created, changed or deleted and committed:
     * updates its schedules in the background.
     */
    cohortChanged: (_accountId: string, cohortId: string): void =>
      background.run(
        'the monitoring schedules of a cohort could not be updated; reconcile does it later',
        { cohortId },
        () => sync(cohortId),
      ),
    sync,
    /**
     * Corrects schedules that differ from the settings, whatever the reason.
     */
    recovery: { name: 'monitoring schedules', takeUp } satisfies Recovery,
    drain: () => background.drain(),
  };
}

/**
 * Writes the schedule in Temporal according to the settings: running, paused
 * when monitoring is switched off, or deleted when the cohort was. Returns
 * undefined when no schedule exists afterwards. Throws when Temporal does not
 * answer.
 */
async function writeSchedule(
  { temporal, logger }: { temporal: Client; logger: Logger },
  ref: ScheduleRef,
  wanted: WantedSchedule | undefined,
): Promise<WrittenSchedule | undefined> {
  const { cohortId, kind } = ref;
  if (wanted === undefined) {
    await deleteMonitoringSchedule(temporal, cohortId, kind);
    return undefined;
  }
  if (!wanted.enabled) {
    const exists = await switchOffMonitoringSchedule(temporal, cohortId, kind);
    return exists ? { applied: wanted, fingerprint: null } : undefined;
  }
  const hours = monitoringHoursSchema.parse(wanted.hours ?? {});
  if (differs(wanted.hours, hours))
    logger.warn(
      { accountId: ref.accountId, hours },
      'settings.monitoring of the account is invalid; these hours are used instead',
    );
  await putMonitoringSchedule(temporal, planOf(ref, wanted, hours));
  const described = await describeMonitoringSchedule(temporal, cohortId, kind);
  return {
    applied: wanted,
    fingerprint:
      described === undefined ? null : monitoringFingerprint(described),
  };
}

/**
 * Whether the schedule in Temporal is still as it was written. Throws when
 * Temporal does not answer.
 */
async function isUntouched(
  temporal: Client,
  { cohortId, kind }: ScheduleRef,
  { wanted, fingerprint }: LeasedSchedule,
): Promise<boolean> {
  const described = await describeMonitoringSchedule(temporal, cohortId, kind);
  if (described === undefined || wanted === undefined) return false;
  if (!wanted.enabled) return described.state.paused;
  const isSwitchedOff =
    described.state.paused && described.state.note === OFF_NOTE;
  return (
    !isSwitchedOff &&
    fingerprint?.equals(monitoringFingerprint(described)) === true
  );
}

const planOf = (
  { accountId, cohortId, kind }: ScheduleRef,
  {
    name,
    frequency,
    networkQueriesPerMinute,
  }: WantedSchedule & { enabled: true },
  hours: MonitoringPlan['hours'],
): MonitoringPlan => ({
  cohortId,
  cohortName: name,
  kind,
  frequency,
  hours,
  networkQueriesPerMinute:
    networkQueriesPerMinute ?? NETWORK_QUERIES_PER_MINUTE,
  credentialRef: `account/${accountId}`,
  accountId,
});

/**
 * Whether a member of the given settings was replaced because it was invalid.
 */
function differs(given: unknown, used: MonitoringPlan['hours']): boolean {
  if (given === null || given === undefined) return false;
  const members = new Map(Object.entries(given));
  return Object.entries(used).some(
    ([name, value]) => members.has(name) && members.get(name) !== value,
  );
}

/** Deadline for reading one part of the list. */
const LIST_TIMEOUT_MS = 20_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The list of all schedules in Temporal, read part by part, so that no round
 * reads all of it.
 */
function createScheduleListing(temporal: Client) {
  const open = () =>
    temporal.schedule.list({ pageSize: 1_000 })[Symbol.asyncIterator]();
  let position: ReturnType<typeof open> | undefined;

  async function read(
    count: number,
  ): Promise<{ listed: ScheduleRef[]; isEnd: boolean }> {
    position ??= open();
    const listed: ScheduleRef[] = [];
    for (let read = 0; read < count; read++) {
      const { done, value } = await position.next();
      if (done === true) {
        position = undefined;
        return { listed, isEnd: true };
      }
      const accountId = value.typedSearchAttributes?.get(
        searchAttribute.accountId,
      );
      const parsed = parseCohortMonitoringId(value.scheduleId);
      if (
        parsed !== undefined &&
        accountId !== undefined &&
        UUID.test(accountId) &&
        UUID.test(parsed.cohortId)
      )
        listed.push({ accountId, ...parsed });
    }
    return { listed, isEnd: false };
  }

  return {
    /**
     * Reads at most `count` more schedules, and returns those of monitoring
     * that carry an account id. (Schedules that a starter made for another
     * operator's exchange carry none.) Begins again after the end, and after an
     * error.
     */
    async next(count: number) {
      try {
        return await temporal.withDeadline(Date.now() + LIST_TIMEOUT_MS, () =>
          read(count),
        );
      } catch (error) {
        position = undefined;
        throw error;
      }
    },
  };
}
