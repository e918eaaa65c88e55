import {
  type CalendarSpec,
  ScheduleOverlapPolicy,
  type ScheduleSpec,
} from '@temporalio/client';
import type { Priority } from '@temporalio/common';
import {
  type CohortMonitoringInput,
  DEFAULT_MONITORING_PACE,
  type MonitoringFrequency,
  type MonitoringKind,
} from '../../contract/cohort-monitoring.ts';
import { backgroundLimit } from '../../contract/query-limits.ts';
import {
  cohortMonitoringWorkflowId,
  PRIORITY,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../contract/temporal.ts';
import { asCode } from '../../lib/escape.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import {
  JITTER_MINUTES,
  type MonitoringHours,
  type MonitoringSlot,
  monitoringSlot,
  zoneClock,
} from './monitoring-slot.ts';

/** The settings that determine a cohort's monitoring Schedule. */
export interface MonitoringPlan {
  cohortId: string;
  /**
   * Shown, encrypted, on the pages of the Schedule and its runs; absent for
   * another exchange.
   */
  cohortName?: string;
  kind: MonitoringKind;
  frequency: MonitoringFrequency;
  hours: MonitoringHours;
  /** The account's limit per source; monitoring uses at most 80 % of it. */
  networkQueriesPerMinute: number;
  /**
   * Name of the credential that the worker uses (`account/<id>`, `api-key`).
   */
  credentialRef: string;
  /** The account at our own exchange; absent for another exchange. */
  accountId?: string;
}

/**
 * Increase it when the same plan should lead to a different Schedule: all
 * existing ones are then updated.
 */
export const SCHEDULE_RULES = 4;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * Builds the Temporal Schedule for one kind of monitoring of a cohort, without
 * its state: the options for create and update. The id of the Schedule and its
 * runs is `cohortMonitoringWorkflowId`. Throws RangeError for an unknown time
 * zone.
 */
export function monitoringSchedule(plan: MonitoringPlan) {
  const { cohortId, kind, frequency, accountId } = plan;
  const input: CohortMonitoringInput = {
    exchange: { credentialRef: plan.credentialRef },
    cohortId,
    cohortName: plan.cohortName,
    kind,
    frequency,
    queriesPerMinute: backgroundLimit(plan.networkQueriesPerMinute),
    pace: DEFAULT_MONITORING_PACE,
  };
  const priority: Priority = {
    priorityKey: PRIORITY.monitoring,
    ...(accountId === undefined ? {} : { fairnessKey: accountId }),
  };
  const typedSearchAttributes =
    accountId === undefined
      ? []
      : [{ key: searchAttribute.accountId, value: accountId }];
  const action = {
    type: 'startWorkflow' as const,
    workflowType: WORKFLOW_TYPES.cohortMonitoring,
    workflowId: cohortMonitoringWorkflowId(cohortId, kind),
    taskQueue: TASK_QUEUES.orchestrator,
    args: [input],
    typedSearchAttributes,
    // Missing in the type of the options, but sent by the SDK.
    priority,
    staticSummary: `Monitoring of cohort ${asCode(plan.cohortName ?? cohortId)}: ${kind}, ${frequency}`,
    staticDetails: describePlan(plan),
  };
  const policies = {
    // A run that is still active covers the whole cohort, so no second one is
    // needed.
    overlap: ScheduleOverlapPolicy.SKIP,
    // A run missed during an outage of up to two days is started afterwards,
    // once, even outside the configured hours.
    catchupWindow: 2 * DAY_MS,
    pauseOnFailure: false,
  };
  return {
    spec: monitoringSpec(plan),
    action,
    policies,
    typedSearchAttributes,
  };
}

/**
 * Builds the times of the Schedule. Temporal adds a random part of `jitter` to
 * each time.
 */
export function monitoringSpec(
  plan: Pick<MonitoringPlan, 'cohortId' | 'kind' | 'frequency' | 'hours'>,
): ScheduleSpec {
  const { timeZone } = plan.hours;
  const slot = monitoringSlot(
    plan.cohortId,
    plan.kind,
    plan.frequency,
    plan.hours,
  );
  const common = { timezone: timeZone, jitter: JITTER_MINUTES * MINUTE_MS };
  switch (plan.frequency) {
    case 'weekly':
      return { ...common, ...everyDays(7, slot, timeZone) };
    case 'biweekly':
      return { ...common, ...everyDays(14, slot, timeZone) };
    case 'monthly':
      return {
        ...common,
        calendars: [
          { dayOfMonth: slot.day, hour: slot.hour, minute: slot.minute },
        ],
      };
  }
}

/**
 * Temporal has no calendar for every second week, and its intervals count from
 * the epoch in UTC, so that their local time shifts with clock changes.
 * Therefore we use one interval for each UTC offset of the zone; each is right
 * while its offset applies, and `skip`, which is in local time, removes the
 * times of the others.
 *
 * Weekly schedules work the same way, because calendars by day of the week fail
 * on days without midnight (Santiago, Cairo, Beirut): the server takes them for
 * the day before.
 */
function everyDays(
  days: 7 | 14,
  { day, hour, minute }: MonitoringSlot,
  timeZone: string,
): Pick<ScheduleSpec, 'intervals' | 'skip'> {
  const every = days * DAY_MS;
  const localMs = day * DAY_MS + (hour * 60 + minute) * MINUTE_MS;
  const intervals = offsetsToExpect(timeZone).map((offsetMs) => ({
    every,
    offset: (localMs - offsetMs + every) % every,
  }));
  return { intervals, skip: allTimesBut(hour, minute) };
}

/**
 * The zone's UTC offsets, and those an hour more and less: if summer time is
 * abolished or extended, the server's time zone data may know it before ours,
 * and the Schedule must still run.
 */
function offsetsToExpect(timeZone: string): number[] {
  const around = zoneClock(timeZone).offsetsMs.flatMap((offsetMs) => [
    offsetMs - 60 * MINUTE_MS,
    offsetMs,
    offsetMs + 60 * MINUTE_MS,
  ]);
  return [...new Set(around)].sort((a, b) => a - b);
}

/** Two calendars that together match every minute of the day except one. */
const allTimesBut = (hour: number, minute: number): CalendarSpec[] => [
  { hour: allExcept(hour, 23), minute: '*', second: '*' },
  { hour: '*', minute: allExcept(minute, 59), second: '*' },
];

const allExcept = (value: number, max: number) => [
  ...(value > 0 ? [{ start: 0, end: value - 1 }] : []),
  ...(value < max ? [{ start: value + 1, end: max }] : []),
];

/** Static details, shown on the page of each run in the Temporal UI. */
const describePlan = ({
  cohortId,
  cohortName,
  kind,
  frequency,
  hours,
}: MonitoringPlan): string =>
  [
    `Queries the ${kind} source for every patient of cohort ${asCode(cohortName ?? cohortId)}, ${frequency}.`,
    '',
    '1. Reads the cohort page by page.',
    '2. Starts a network query for each patient who was not queried in this period and has not opted out.',
    '3. Keeps to at most 80 % of the account’s limit of queries per minute.',
    '',
    `Starts between ${hours.fromHour} and ${hours.toHour} o’clock, ${hours.timeZone}. Control it with`,
    `\`npm run starter -- monitor pause ${cohortId} ${kind}\` (also trigger, resume), or with the signals`,
    '`pause` and `resume` to a run.',
  ].join('\n');
