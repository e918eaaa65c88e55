import type { Client } from '@temporalio/client';
import { NETWORK_QUERIES_PER_MINUTE } from '../../../contract/query-limits.ts';
import type { Logger } from '../../../lib/logger.ts';
import {
  deleteMonitoringSchedule,
  describeMonitoringSchedule,
  monitoringFingerprint,
  OFF_NOTE,
  putMonitoringSchedule,
  switchOffMonitoringSchedule,
} from '../../../shared/monitoring/monitoring-control.ts';
import type { MonitoringPlan } from '../../../shared/monitoring/monitoring-schedule.ts';
import { monitoringHoursSchema } from '../../../shared/monitoring/monitoring-slot.ts';
import type { LeasedSchedule, ScheduleRef, WrittenSchedule } from './schedule-store.ts';
import type { WantedSchedule } from './tables.ts';

/**
 * Writes the schedule in Temporal according to the settings: running, paused when monitoring is switched off, or deleted when
 * the cohort was. Returns undefined when no schedule exists afterwards. Throws when Temporal does not answer.
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
  return { applied: wanted, fingerprint: described === undefined ? null : monitoringFingerprint(described) };
}

/** Whether the schedule in Temporal is still as it was written. Throws when Temporal does not answer. */
export async function isUntouched(
  temporal: Client,
  { cohortId, kind }: ScheduleRef,
  { wanted, fingerprint }: LeasedSchedule,
): Promise<boolean> {
  const described = await describeMonitoringSchedule(temporal, cohortId, kind);
  if (described === undefined || wanted === undefined) return false;
  if (!wanted.enabled) return described.state.paused;
  const isSwitchedOff = described.state.paused && described.state.note === OFF_NOTE;
  return !isSwitchedOff && fingerprint?.equals(monitoringFingerprint(described)) === true;
}

const planOf = (
  { accountId, cohortId, kind }: ScheduleRef,
  { name, frequency, networkQueriesPerMinute }: WantedSchedule & { enabled: true },
  hours: MonitoringPlan['hours'],
): MonitoringPlan => ({
  cohortId,
  cohortName: name,
  kind,
  frequency,
  hours,
  networkQueriesPerMinute: networkQueriesPerMinute ?? NETWORK_QUERIES_PER_MINUTE,
  credentialRef: `account/${accountId}`,
  accountId,
});

/** Whether a member of the given settings was replaced because it was invalid. */
function differs(given: unknown, used: MonitoringPlan['hours']): boolean {
  if (given === null || given === undefined) return false;
  const members = new Map(Object.entries(given));
  return Object.entries(used).some(([name, value]) => members.has(name) && members.get(name) !== value);
}
