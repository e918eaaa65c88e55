import type { MonitoringFrequency } from '../../contract/cohort-monitoring.ts';
import { NETWORK_QUERIES_PER_MINUTE } from '../../contract/query-limits.ts';
import { putMonitoringSchedule } from '../../shared/monitoring/monitoring-control.ts';
import { DEFAULT_MONITORING_HOURS } from '../../shared/monitoring/monitoring-slot.ts';
import { RefusedError, UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { frequencyOf, monitoringView, stateOf } from '../progress/monitoring-view.ts';
import { type MonitoringId, type Monitorings, withMonitorings } from '../target/monitorings.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';
import { monitoringResult } from './monitor-report.ts';
import { changeSetting, untilFollowed } from './monitor-setting.ts';

export interface MonitorCreateOptions extends CommonOptions {
  frequency: MonitoringFrequency;
  /** The rest is for a foreign exchange; our own takes it from the account. */
  timeZone?: string;
  fromHour?: number;
  toHour?: number;
  queriesPerMinute?: number;
}

/**
 * Has a cohort monitored. Our own exchange is told by the cohort's settings, and makes the schedule; for a foreign one,
 * whose schedules do not run, it is made here, and our worker asks that exchange.
 */
export const monitorCreate = (
  id: MonitoringId,
  options: MonitorCreateOptions,
  context: CommandContext,
): Promise<CommandResult> =>
  withMonitorings(context, async (monitorings) => {
    const say = monitorings.isOwn
      ? await switchOn(id, options, monitorings, context)
      : await makeSchedule(id, options, monitorings, context);
    const found = await monitorings.find(id);
    if (found === undefined)
      return monitoringResult('monitor create', [], context, {
        say: ['The setting is on; the schedule follows as soon as Temporal and the worker are there.'],
        exitCode: EXIT.running,
      });
    const view = await monitoringView(monitorings.temporal, id, found);
    return monitoringResult('monitor create', [view], context, { say });
  });

async function switchOn(
  id: MonitoringId,
  { frequency, timeZone, fromHour, toHour, queriesPerMinute }: MonitorCreateOptions,
  monitorings: Monitorings,
  { target }: CommandContext,
): Promise<string[]> {
  if ([timeZone, fromHour, toHour, queriesPerMinute].some((given) => given !== undefined))
    throw new UsageError(
      'At our own exchange time zone, hours and limits are settings of the account; leave those options out.',
    );
  await changeSetting(target.exchange, id, { enabled: true, frequency });
  await untilFollowed(
    monitorings,
    id,
    (schedule) =>
      schedule !== undefined && stateOf(schedule) !== 'off' && frequencyOf(schedule) === frequency,
  );
  return [`The ${id.kind} monitoring of this cohort is on, ${frequency}.`];
}

async function makeSchedule(
  id: MonitoringId,
  options: MonitorCreateOptions,
  { temporal, access }: Monitorings,
  { target }: CommandContext,
): Promise<string[]> {
  const { answer } = await target.exchange.call('listCohorts', {});
  if (!answer.cohorts.some(({ id: known }) => known === id.cohortId))
    throw new RefusedError(`The exchange has no cohort ${id.cohortId}.`);
  const made = await putMonitoringSchedule(temporal, {
    ...id,
    frequency: options.frequency,
    hours: {
      timeZone: options.timeZone ?? DEFAULT_MONITORING_HOURS.timeZone,
      fromHour: options.fromHour ?? DEFAULT_MONITORING_HOURS.fromHour,
      toHour: options.toHour ?? DEFAULT_MONITORING_HOURS.toHour,
    },
    networkQueriesPerMinute: options.queriesPerMinute ?? NETWORK_QUERIES_PER_MINUTE,
    credentialRef: access.credentialRef,
  }).catch((error: unknown) => {
    throw error instanceof RangeError
      ? new UsageError(`--time-zone is no IANA time zone: ${options.timeZone}`)
      : error;
  });
  return [`The schedule is ${made}. The worker asks the exchange of its own EXCHANGE_BASE_URL.`];
}
