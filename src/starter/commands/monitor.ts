import {
  type ScheduleDescription,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { MonitoringFrequency } from '../../contract/cohort-monitoring.ts';
import { NETWORK_QUERIES_PER_MINUTE } from '../../contract/query-limits.ts';
import { EXIT } from '../../lib/exit-codes.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import {
  deleteMonitoringSchedule,
  putMonitoringSchedule,
} from '../../shared/monitoring/monitoring-control.ts';
import { DEFAULT_MONITORING_HOURS } from '../../shared/monitoring/monitoring-slot.ts';
import { sealText } from '../../temporal/sealed-text.ts';
import { workflowLink } from '../../temporal/ui-links.ts';
import { RefusedError, UsageError } from '../errors.ts';
import {
  frequencyOf,
  lastRunOf,
  type MonitoringView,
  monitoringView,
  scheduleState,
} from '../progress/monitoring-view.ts';
import { pause } from '../progress/poll-exchange.ts';
import {
  type MonitoringId,
  type Monitorings,
  withMonitorings,
} from '../target/monitorings.ts';
import type {
  CommandContext,
  StarterCommand,
  StarterCommandOptions,
} from './command.ts';
import { monitoringResult } from './monitor-report.ts';

interface MonitorCreateOptions extends StarterCommandOptions {
  frequency: MonitoringFrequency;
  /**
   * Hours and limit for other exchanges only; our own exchange takes them from
   * the account's settings.
   */
  timeZone?: string;
  fromHour?: number;
  toHour?: number;
  queriesPerMinute?: number;
}

/**
 * Starts monitoring a cohort. At our own exchange this changes the cohort's
 * settings, and the exchange creates the schedule. For another exchange, which
 * runs no schedules of ours, the schedule is created here and our worker
 * queries that exchange. Throws UsageError, RefusedError.
 */
export const monitorCreate: StarterCommand<
  [MonitoringId, MonitorCreateOptions]
> = (id, options, context) =>
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
  {
    frequency,
    timeZone,
    fromHour,
    toHour,
    queriesPerMinute,
  }: MonitorCreateOptions,
  monitorings: Monitorings,
  { target }: CommandContext,
): Promise<string[]> {
  if (
    [timeZone, fromHour, toHour, queriesPerMinute].some(
      (given) => given !== undefined,
    )
  )
    throw new UsageError(
      '--time-zone, --from-hour, --to-hour and --queries-per-minute are for other exchanges. This exchange takes them from the settings of the account: remove these options.',
    );
  await changeSetting(target.exchange, id, { enabled: true, frequency });
  await untilFollowed(
    monitorings,
    id,
    (schedule) =>
      schedule !== undefined &&
      scheduleState(schedule) !== 'off' &&
      frequencyOf(schedule) === frequency,
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
    networkQueriesPerMinute:
      options.queriesPerMinute ?? NETWORK_QUERIES_PER_MINUTE,
    credentialRef: access.credentialRef,
  }).catch((error: unknown) => {
    throw error instanceof RangeError
      ? new UsageError(
          `${options.timeZone} is not an IANA time zone. Pass one such as America/New_York as --time-zone.`,
        )
      : error;
  });
  return [
    `The schedule was ${made}. The worker queries the exchange at its own EXCHANGE_BASE_URL.`,
  ];
}

interface MonitorBackfillOptions extends StarterCommandOptions {
  from: Date;
  to: Date;
}

/**
 * Temporal queues at most a thousand runs; a hundred covers two years of weekly
 * runs.
 */
const RUNS_MAX = 100;

/**
 * Runs all scheduled runs of a past period, one after the other. Each uses its
 * own scheduled date, so a patient who was already queried in that run's period
 * is not queried again. Throws UsageError, RefusedError.
 */
export const monitorBackfill: StarterCommand<
  [MonitoringId, MonitorBackfillOptions]
> = (id, { from, to }, context) => {
  if (from >= to) throw new UsageError('--from must be before --to.');
  if (to.getTime() > Date.now())
    throw new UsageError('--to must not be in the future.');
  return withMonitorings(context, async (monitorings) => {
    await requireOn(monitorings, id);
    const handle = monitorings.handle(id);
    const { startTime: times } =
      await monitorings.temporal.workflowService.listScheduleMatchingTimes({
        namespace: monitorings.temporal.options.namespace,
        scheduleId: handle.scheduleId,
        startTime: timestamp(from),
        endTime: timestamp(to),
      });
    if (times.length === 0)
      throw new RefusedError(
        'No run of this schedule falls into the period from --from to --to.',
      );
    if (times.length > RUNS_MAX)
      throw new RefusedError(
        `The period contains ${times.length} runs; the maximum is ${RUNS_MAX}. Pass a shorter period.`,
      );
    await handle.backfill({
      start: from,
      end: to,
      overlap: ScheduleOverlapPolicy.BUFFER_ALL,
    });
    const view = await monitoringView(
      monitorings.temporal,
      id,
      await monitorings.require(id),
    );
    const result = await monitoringResult('monitor backfill', [view], context, {
      say: [
        `${times.length} ${times.length === 1 ? 'run was' : 'runs were'} queued. Check on them with: npm run starter -- monitor list ${id.cohortId}`,
      ],
    });
    return { ...result, document: { ...result.document, runs: times.length } };
  });
};

/** The protocol declares 64-bit seconds; the library accepts a number too. */
const timestamp = (at: Date) => ({
  seconds: Math.floor(at.getTime() / 1_000) as never,
});

/**
 * Changes one monitoring in the cohort's `settings.monitoring`; all other
 * settings keep their values. Throws ExchangeCallError.
 */
async function changeSetting(
  exchange: ExchangeClient,
  { cohortId, kind }: MonitoringId,
  setting: { enabled: boolean; frequency?: MonitoringFrequency },
): Promise<void> {
  const monitoring =
    kind === 'hie' ? { hie: setting } : { pharmacy: { schedule: setting } };
  await exchange.call('updateCohort', {
    params: { id: cohortId },
    body: { settings: { monitoring } },
  });
}

/**
 * The exchange updates the schedule after it has responded; if that fails,
 * `reconcile` does it later.
 */
const FOLLOWS_WITHIN_MS = 20_000;
const POLL_MS = 200;

/**
 * Waits, for a limited time, until the schedule reflects the cohort's setting.
 */
async function untilFollowed(
  monitorings: Monitorings,
  id: MonitoringId,
  isRight: (schedule: ScheduleDescription | undefined) => boolean,
): Promise<void> {
  const signal = AbortSignal.timeout(FOLLOWS_WITHIN_MS);
  while (!signal.aborted) {
    if (isRight(await monitorings.find(id))) return;
    await pause(POLL_MS, signal);
  }
}

const STARTS_WITHIN_MS = 10_000;

/**
 * Starts a run now, also of a paused monitoring. Throws RefusedError while
 * another run is in progress.
 */
export const monitorTrigger: StarterCommand<
  [MonitoringId, StarterCommandOptions]
> = (id, _options, context) =>
  withMonitorings(context, async (monitorings) => {
    const schedule = await requireOn(monitorings, id);
    if (schedule.info.runningActions.length > 0)
      throw new RefusedError(
        `A run of this monitoring is already in progress. Check on it with: npm run starter -- monitor list ${id.cohortId}`,
      );
    await monitorings.handle(id).trigger(ScheduleOverlapPolicy.SKIP);
    const workflowId = await untilRun(monitorings, id, runIdOf(schedule));
    return monitoringResult(
      'monitor trigger',
      [await viewOf(monitorings, id)],
      context,
      {
        exitCode: workflowId === undefined ? EXIT.running : EXIT.done,
        say:
          workflowId !== undefined
            ? [
                `Run ${workflowId} has started. Check on it with: npm run starter -- monitor list ${id.cohortId}`,
                ...(context.target.ui === undefined
                  ? []
                  : [`Run: ${workflowLink(context.target.ui, workflowId)}`]),
              ]
            : [
                `Temporal accepted the request but has not started the run yet. Check on it with: npm run starter -- monitor list ${id.cohortId}`,
              ],
      },
    );
  });

/**
 * Waits for a run other than the known one, and returns its workflow id;
 * undefined when none starts in time.
 */
async function untilRun(
  monitorings: Monitorings,
  id: MonitoringId,
  known: string | undefined,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(STARTS_WITHIN_MS);
  while (!signal.aborted) {
    const last = runIdOf(await monitorings.require(id));
    if (last !== known) return last;
    await pause(POLL_MS, signal);
  }
  return undefined;
}

const runIdOf = (schedule: ScheduleDescription): string | undefined =>
  lastRunOf(schedule)?.action.workflow.workflowId;

/** Notes are free text, which Temporal would store in clear text. */
const converterOf = ({ temporal }: Monitorings) =>
  temporal.options.loadedDataConverter;

type SteerCommand = StarterCommand<
  [MonitoringId, StarterCommandOptions & { note?: string }]
>;

const steering =
  (
    command: string,
    how: 'pause' | 'unpause',
    defaultNote: string,
  ): SteerCommand =>
  (id, { note = defaultNote }, context) =>
    withMonitorings(context, async (monitorings) => {
      await requireOn(monitorings, id);
      await monitorings
        .handle(id)
        [how](await sealText(converterOf(monitorings), note));
      return monitoringResult(
        command,
        [await viewOf(monitorings, id)],
        context,
      );
    });

/**
 * Pauses a monitoring: no further run starts until it is resumed. A run in
 * progress continues.
 */
export const monitorPause = steering(
  'monitor pause',
  'pause',
  'Paused by an operator',
);

/** Resumes a paused monitoring with its next scheduled run. */
export const monitorResume = steering(
  'monitor resume',
  'unpause',
  'Resumed by an operator',
);

/**
 * Stops a monitoring: at our own exchange by the cohort's setting; for another
 * exchange its schedule is deleted.
 */
export const monitorDelete: StarterCommand<
  [MonitoringId, StarterCommandOptions]
> = (id, _options, context) =>
  withMonitorings(context, async (monitorings) => {
    const say = 'A run in progress continues until it ends.';
    if (!monitorings.isOwn) {
      await monitorings.require(id);
      await deleteMonitoringSchedule(
        monitorings.temporal,
        id.cohortId,
        id.kind,
      );
      return monitoringResult('monitor delete', [], context, {
        say: [`The schedule was deleted. ${say}`],
      });
    }
    await changeSetting(context.target.exchange, id, { enabled: false });
    await untilFollowed(
      monitorings,
      id,
      (schedule) => schedule === undefined || schedule.state.paused,
    );
    const found = await monitorings.find(id);
    const views =
      found === undefined
        ? []
        : [await monitoringView(monitorings.temporal, id, found)];
    return monitoringResult('monitor delete', views, context, {
      say: [
        `The ${id.kind} monitoring is disabled in the cohort's settings. Its schedule is paused; it is deleted with the cohort. ${say}`,
      ],
    });
  });

/**
 * Returns the schedule. Throws RefusedError when there is none, or when the
 * cohort's settings disable it.
 */
async function requireOn(
  monitorings: Monitorings,
  id: MonitoringId,
): Promise<ScheduleDescription> {
  const schedule = await monitorings.require(id);
  if (scheduleState(schedule) !== 'off') return schedule;
  throw new RefusedError(
    `The ${id.kind} monitoring is disabled in the cohort's settings. Enable it with: npm run starter -- monitor create ${id.cohortId} ${id.kind}`,
  );
}

const viewOf = async (
  monitorings: Monitorings,
  id: MonitoringId,
): Promise<MonitoringView> =>
  monitoringView(monitorings.temporal, id, await monitorings.require(id));
