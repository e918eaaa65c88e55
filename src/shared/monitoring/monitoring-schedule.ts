import { type CalendarSpec, ScheduleOverlapPolicy, type ScheduleSpec } from '@temporalio/client';
import type { Priority } from '@temporalio/common';
import type {
  CohortMonitoringInput,
  MonitoringFrequency,
  MonitoringKind,
} from '../../contract/cohort-monitoring.ts';
import { backgroundLimit } from '../../contract/query-limits.ts';
import {
  cohortMonitoringWorkflowId,
  PRIORITY,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../contract/temporal.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import { zoneClock } from './clock-changes.ts';
import {
  JITTER_MINUTES,
  type MonitoringHours,
  type MonitoringSlot,
  monitoringSlot,
} from './monitoring-slot.ts';

/** What a cohort's monitoring schedule is made from. */
export interface MonitoringPlan {
  cohortId: string;
  kind: MonitoringKind;
  frequency: MonitoringFrequency;
  hours: MonitoringHours;
  /** Of the account, per source; monitoring takes at most 80 % of it. */
  networkQueriesPerMinute: number;
  /** Name of the credential that the worker uses (`account/<id>`, `api-key`). */
  credentialRef: string;
  /** The account at our own exchange; absent at a foreign one. */
  accountId?: string;
}

/** Raise it when the same plan is to lead to another schedule: all that are there are then written anew. */
export const SCHEDULE_RULES = 1;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * The Temporal Schedule of one monitoring of a cohort, but for its state: what create and update take. Its id and
 * that of its runs are `cohortMonitoringWorkflowId`. Throws RangeError when the time zone is not known.
 */
export function monitoringSchedule(plan: MonitoringPlan) {
  const { cohortId, kind, frequency, accountId } = plan;
  const input: CohortMonitoringInput = {
    exchange: { credentialRef: plan.credentialRef },
    cohortId,
    kind,
    frequency,
    queriesPerMinute: backgroundLimit(plan.networkQueriesPerMinute),
  };
  const priority: Priority = {
    priorityKey: PRIORITY.monitoring,
    ...(accountId === undefined ? {} : { fairnessKey: accountId }),
  };
  const typedSearchAttributes =
    accountId === undefined ? [] : [{ key: searchAttribute.accountId, value: accountId }];
  const action = {
    type: 'startWorkflow' as const,
    workflowType: WORKFLOW_TYPES.cohortMonitoring,
    workflowId: cohortMonitoringWorkflowId(cohortId, kind),
    taskQueue: TASK_QUEUES.orchestrator,
    args: [input],
    typedSearchAttributes,
    // The SDK sends it, though the type of its options leaves it out.
    priority,
    staticSummary: `Monitoring of a cohort: ${kind}, ${frequency}`,
    staticDetails: story(plan),
  };
  const policies = {
    // The run that is on asks about everybody anyway.
    overlap: ScheduleOverlapPolicy.SKIP,
    // A run missed in an outage of up to two days is made up for, once, outside the hours if need be.
    catchupWindow: 2 * DAY_MS,
    pauseOnFailure: false,
  };
  return { spec: monitoringSpec(plan), action, policies, typedSearchAttributes };
}

/** When it runs. `jitter` is added to each time. */
export function monitoringSpec(
  plan: Pick<MonitoringPlan, 'cohortId' | 'kind' | 'frequency' | 'hours'>,
): ScheduleSpec {
  const { timeZone } = plan.hours;
  const slot = monitoringSlot(plan.cohortId, plan.kind, plan.frequency, plan.hours);
  const common = { timezone: timeZone, jitter: JITTER_MINUTES * MINUTE_MS };
  switch (plan.frequency) {
    case 'weekly':
      return { ...common, ...everyDays(7, slot, timeZone) };
    case 'biweekly':
      return { ...common, ...everyDays(14, slot, timeZone) };
    case 'monthly':
      return { ...common, calendars: [{ dayOfMonth: slot.day, hour: slot.hour, minute: slot.minute }] };
  }
}

/**
 * Temporal has no calendar for every second week, and its intervals count from the epoch in UTC, so that their local
 * hour moves with the clocks. Hence one interval of so many days for each difference to UTC that the zone has, each
 * right while that difference holds; `skip`, read in local time, takes away what the others give.
 *
 * Weekly ones are made the same way: calendars by day of the week go wrong on a day without midnight (the server
 * takes it for the day before; Santiago, Cairo, Beirut).
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
 * Those of the zone, and an hour around them: where a parliament abolishes or prolongs summer time, the server's list
 * of time zones may know it before ours does, and the schedule must not fall silent.
 */
function offsetsToExpect(timeZone: string): number[] {
  const around = zoneClock(timeZone).offsetsMs.flatMap((offsetMs) => [
    offsetMs - 60 * MINUTE_MS,
    offsetMs,
    offsetMs + 60 * MINUTE_MS,
  ]);
  return [...new Set(around)].sort((a, b) => a - b);
}

/** Two calendars that together match every minute of the day but one. */
const allTimesBut = (hour: number, minute: number): CalendarSpec[] => [
  { hour: othersOf(hour, 23), minute: '*', second: '*' },
  { hour: '*', minute: othersOf(minute, 59), second: '*' },
];

const othersOf = (value: number, max: number) => [
  ...(value > 0 ? [{ start: 0, end: value - 1 }] : []),
  ...(value < max ? [{ start: value + 1, end: max }] : []),
];

/** Shown on the page of each run in the Temporal UI. */
const story = ({ kind, frequency, hours }: MonitoringPlan): string =>
  [
    `Asks the ${kind} source about every patient of one cohort, ${frequency}.`,
    '',
    '1. Reads the cohort page by page.',
    '2. Starts a network query for each patient who was not asked about in this period and has not opted out.',
    '3. Keeps to at most 80 % of the account’s limit of queries per minute.',
    '',
    `Starts between ${hours.fromHour} and ${hours.toHour} o’clock, ${hours.timeZone}. Steer it with`,
    '`npm run starter -- monitor`, or with the signals `pause` and `resume` to a run.',
  ].join('\n');
