import { type ScheduleDescription, ScheduleOverlapPolicy } from '@temporalio/client';
import type { MonitoringFrequency } from '../../contract/cohort-monitoring.ts';
import { EXIT } from '../../lib/exit-codes.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { deleteMonitoringSchedule } from '../../shared/monitoring/monitoring-control.ts';
import { sealText } from '../../temporal/sealed-text.ts';
import { RefusedError } from '../errors.ts';
import { workflowLink } from '../links.ts';
import { lastRunOf, type MonitoringView, monitoringView, stateOf } from '../progress/monitoring-view.ts';
import { pause } from '../progress/poll-exchange.ts';
import { type MonitoringId, type Monitorings, withMonitorings } from '../target/monitorings.ts';
import type { CommandResult } from '../terminal.ts';
import type { Command, CommandContext, CommonOptions } from './command.ts';
import { monitoringResult } from './monitor-report.ts';

/** Changes one monitoring in the cohort's `settings.monitoring`; all other settings keep their values. Throws ExchangeCallError. */
export async function changeSetting(
  exchange: ExchangeClient,
  { cohortId, kind }: MonitoringId,
  setting: { enabled: boolean; frequency?: MonitoringFrequency },
): Promise<void> {
  const monitoring = kind === 'hie' ? { hie: setting } : { pharmacy: { schedule: setting } };
  await exchange.call('updateCohort', { params: { id: cohortId }, body: { settings: { monitoring } } });
}

/** The exchange updates the schedule after it has responded; if that fails, `reconcile` does it later. */
const FOLLOWS_WITHIN_MS = 20_000;
const POLL_MS = 200;

/** Waits, for a limited time, until the schedule reflects the cohort's setting. */
export async function untilFollowed(
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

/** Starts a run now, also of a paused monitoring. Throws RefusedError while another run is in progress. */
export const monitorTrigger: Command<[MonitoringId, CommonOptions]> = (id, _options, context) =>
  withMonitorings(context, async (monitorings) => {
    const schedule = await requireOn(monitorings, id);
    if (schedule.info.runningActions.length > 0)
      throw new RefusedError(
        `A run of this monitoring is already in progress. Check on it with: npm run starter -- monitor list ${id.cohortId}`,
      );
    await monitorings.handle(id).trigger(ScheduleOverlapPolicy.SKIP);
    const workflowId = await untilRun(monitorings, id, runIdOf(schedule));
    return monitoringResult('monitor trigger', [await viewOf(monitorings, id)], context, {
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
    });
  });

/** Waits for a run other than the known one, and returns its workflow id; undefined when none starts in time. */
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
const converterOf = ({ temporal }: Monitorings) => temporal.options.loadedDataConverter;

/** Pauses a monitoring: no further run starts until it is resumed. A run in progress continues. */
export const monitorPause = (
  id: MonitoringId,
  { note = 'Paused by an operator' }: CommonOptions & { note?: string },
  context: CommandContext,
): Promise<CommandResult> =>
  withMonitorings(context, async (monitorings) => {
    await requireOn(monitorings, id);
    await monitorings.handle(id).pause(await sealText(converterOf(monitorings), note));
    return monitoringResult('monitor pause', [await viewOf(monitorings, id)], context);
  });

/** Resumes a paused monitoring with its next scheduled run. */
export const monitorResume = (
  id: MonitoringId,
  { note = 'Resumed by an operator' }: CommonOptions & { note?: string },
  context: CommandContext,
): Promise<CommandResult> =>
  withMonitorings(context, async (monitorings) => {
    await requireOn(monitorings, id);
    await monitorings.handle(id).unpause(await sealText(converterOf(monitorings), note));
    return monitoringResult('monitor resume', [await viewOf(monitorings, id)], context);
  });

/** Stops a monitoring: at our own exchange by the cohort's setting; for another exchange its schedule is deleted. */
export const monitorDelete: Command<[MonitoringId, CommonOptions]> = (id, _options, context) =>
  withMonitorings(context, async (monitorings) => {
    const say = 'A run in progress continues until it ends.';
    if (!monitorings.isOwn) {
      await monitorings.require(id);
      await deleteMonitoringSchedule(monitorings.temporal, id.cohortId, id.kind);
      return monitoringResult('monitor delete', [], context, { say: [`The schedule was deleted. ${say}`] });
    }
    await changeSetting(context.target.exchange, id, { enabled: false });
    await untilFollowed(monitorings, id, (schedule) => schedule === undefined || schedule.state.paused);
    const found = await monitorings.find(id);
    const views = found === undefined ? [] : [await monitoringView(monitorings.temporal, id, found)];
    return monitoringResult('monitor delete', views, context, {
      say: [
        `The ${id.kind} monitoring is disabled in the cohort's settings. Its schedule is paused; it is deleted with the cohort. ${say}`,
      ],
    });
  });

/** Returns the schedule. Throws RefusedError when there is none, or when the cohort's settings disable it. */
export async function requireOn(monitorings: Monitorings, id: MonitoringId): Promise<ScheduleDescription> {
  const schedule = await monitorings.require(id);
  if (stateOf(schedule) !== 'off') return schedule;
  throw new RefusedError(
    `The ${id.kind} monitoring is disabled in the cohort's settings. Enable it with: npm run starter -- monitor create ${id.cohortId} ${id.kind}`,
  );
}

const viewOf = async (monitorings: Monitorings, id: MonitoringId): Promise<MonitoringView> =>
  monitoringView(monitorings.temporal, id, await monitorings.require(id));
