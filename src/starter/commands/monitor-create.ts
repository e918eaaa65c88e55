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
  /** These four apply to other exchanges only; our own exchange takes them from the account's settings. */
  timeZone?: string;
  fromHour?: number;
  toHour?: number;
  queriesPerMinute?: number;
}

/**
 * Starts monitoring a cohort. At our own exchange this changes the cohort's settings, and the exchange creates the
 * schedule. For another exchange, which runs no schedules of ours, the schedule is created here and our worker queries
 * that exchange. Throws UsageError, RefusedError.
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
        say: [
          `The ${id.kind} monitoring is enabled in the cohort's settings. Its schedule will be created as soon as Temporal and a worker are available.`,
        ],
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
      '--time-zone, --from-hour, --to-hour and --queries-per-minute are for other exchanges. This exchange takes them from the settings of the account: remove these options.',
    );
  await changeSetting(target.exchange, id, { enabled: true, frequency });
  await untilFollowed(
    monitorings,
    id,
    (schedule) =>
      schedule !== undefined && stateOf(schedule) !== 'off' && frequencyOf(schedule) === frequency,
  );
  return [`The ${id.kind} monitoring of this cohort is enabled, ${frequency}.`];
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
      ? new UsageError(
          `${options.timeZone} is not an IANA time zone. Pass one such as America/New_York as --time-zone.`,
        )
      : error;
  });
  return [`The schedule was ${made}. The worker queries the exchange at its own EXCHANGE_BASE_URL.`];
}
