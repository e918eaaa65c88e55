import type { Client } from '@temporalio/client';
import { NETWORK_QUERIES_PER_MINUTE } from '../../contract/query-limits.ts';
import type { Logger } from '../../lib/logger.ts';
import {
  deleteMonitoringSchedule,
  describeMonitoringSchedule,
  monitoringFingerprint,
  OFF_NOTE,
  putMonitoringSchedule,
  switchOffMonitoringSchedule,
} from '../../shared/monitoring/monitoring-control.ts';
import type { MonitoringPlan } from '../../shared/monitoring/monitoring-schedule.ts';
import { monitoringHoursSchema } from '../../shared/monitoring/monitoring-slot.ts';
import type { HeldSchedule, ScheduleRef, WrittenSchedule } from './schedule-store.ts';
import type { WantedSchedule } from './tables.ts';

/**
 * Makes the schedule in Temporal what is wanted: there and running, there but paused when its setting is off, or gone
 * with its cohort. Undefined when there is none any more. Throws when Temporal does not answer.
 */
export async function writeSchedule(
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
    const isThere = await switchOffMonitoringSchedule(temporal, cohortId, kind);
    return isThere ? { applied: wanted, fingerprint: null } : undefined;
  }
  const hours = monitoringHoursSchema.parse(wanted.hours ?? {});
  if (differs(wanted.hours, hours))
    logger.warn(
      { accountId: ref.accountId, hours },
      'settings.monitoring of the account cannot be used as it is; these hours are taken',
    );
  await putMonitoringSchedule(temporal, planOf(ref, wanted, hours));
  const described = await describeMonitoringSchedule(temporal, cohortId, kind);
  return { applied: wanted, fingerprint: described === undefined ? null : monitoringFingerprint(described) };
}

/** Whether Temporal still has the schedule as it was written. Throws when it does not answer. */
export async function isUntouched(
  temporal: Client,
  { cohortId, kind }: ScheduleRef,
  { wanted, fingerprint }: HeldSchedule,
): Promise<boolean> {
  const found = await describeMonitoringSchedule(temporal, cohortId, kind);
  if (found === undefined || wanted === undefined) return false;
  if (!wanted.enabled) return found.state.paused;
  const isSwitchedOff = found.state.paused && found.state.note === OFF_NOTE;
  return !isSwitchedOff && fingerprint?.equals(monitoringFingerprint(found)) === true;
}

const planOf = (
  { accountId, cohortId, kind }: ScheduleRef,
  { frequency, networkQueriesPerMinute }: WantedSchedule & { enabled: true },
  hours: MonitoringPlan['hours'],
): MonitoringPlan => ({
  cohortId,
  kind,
  frequency,
  hours,
  networkQueriesPerMinute: networkQueriesPerMinute ?? NETWORK_QUERIES_PER_MINUTE,
  credentialRef: `account/${accountId}`,
  accountId,
});

/** Whether a given member had to be replaced. */
function differs(given: unknown, used: MonitoringPlan['hours']): boolean {
  if (given === null || given === undefined) return false;
  const members = new Map(Object.entries(given));
  return Object.entries(used).some(([name, value]) => members.has(name) && members.get(name) !== value);
}
