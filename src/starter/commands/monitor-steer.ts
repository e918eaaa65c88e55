import { type ScheduleDescription, ScheduleOverlapPolicy } from '@temporalio/client';
import { deleteMonitoringSchedule } from '../../shared/monitoring/monitoring-control.ts';
import { RefusedError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { workflowLink } from '../links.ts';
import { lastRunOf, type MonitoringView, monitoringView, stateOf } from '../progress/monitoring-view.ts';
import { pause } from '../progress/pace.ts';
import { type MonitoringId, type Monitorings, withMonitorings } from '../target/monitorings.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';
import { monitoringResult } from './monitor-report.ts';
import { changeSetting, untilFollowed } from './monitor-setting.ts';

const STARTS_WITHIN_MS = 10_000;
const LOOK_AGAIN_MS = 200;

/** Runs a monitoring now, whether or not it is paused; not while a run of it is on. */
export const monitorTrigger = (
  id: MonitoringId,
  _options: CommonOptions,
  context: CommandContext,
): Promise<CommandResult> =>
  withMonitorings(context, async (monitorings) => {
    const schedule = await requireOn(monitorings, id);
    if (schedule.info.runningActions.length > 0)
      throw new RefusedError('A run is on already; it asks about everybody.');
    await monitorings.handle(id).trigger(ScheduleOverlapPolicy.SKIP);
    const workflowId = await untilRun(monitorings, id, runIdOf(schedule));
    return monitoringResult('monitor trigger', [await viewOf(monitorings, id)], context, {
      exitCode: workflowId === undefined ? EXIT.running : EXIT.done,
      say:
        workflowId !== undefined
          ? [
              `Run ${workflowId} has started. How it goes: npm run starter -- monitor list ${id.cohortId}`,
              ...(context.target.ui === undefined
                ? []
                : [`Run: ${workflowLink(context.target.ui, workflowId)}`]),
            ]
          : ['Temporal has taken the request, but has not begun the run yet.'],
    });
  });

/** Workflow id of the run that comes after a known one; undefined when it is late. */
async function untilRun(
  monitorings: Monitorings,
  id: MonitoringId,
  known: string | undefined,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(STARTS_WITHIN_MS);
  while (!signal.aborted) {
    const last = runIdOf(await monitorings.require(id));
    if (last !== known) return last;
    await pause(LOOK_AGAIN_MS, signal);
  }
  return undefined;
}

const runIdOf = (schedule: ScheduleDescription): string | undefined =>
  lastRunOf(schedule)?.action.workflow.workflowId;

/** No further run starts until it is resumed; a run that is on goes on. */
export const monitorPause = (
  id: MonitoringId,
  { note = 'Paused by an operator' }: CommonOptions & { note?: string },
  context: CommandContext,
): Promise<CommandResult> =>
  withMonitorings(context, async (monitorings) => {
    await requireOn(monitorings, id);
    await monitorings.handle(id).pause(note);
    return monitoringResult('monitor pause', [await viewOf(monitorings, id)], context);
  });

export const monitorResume = (
  id: MonitoringId,
  { note = 'Resumed by an operator' }: CommonOptions & { note?: string },
  context: CommandContext,
): Promise<CommandResult> =>
  withMonitorings(context, async (monitorings) => {
    await requireOn(monitorings, id);
    await monitorings.handle(id).unpause(note);
    return monitoringResult('monitor resume', [await viewOf(monitorings, id)], context);
  });

/** Ends a monitoring: at our own exchange by the cohort's setting, at a foreign one the schedule goes. */
export const monitorDelete = (
  id: MonitoringId,
  _options: CommonOptions,
  context: CommandContext,
): Promise<CommandResult> =>
  withMonitorings(context, async (monitorings) => {
    const say = 'A run that is on goes on to its end.';
    if (!monitorings.isOwn) {
      await monitorings.require(id);
      await deleteMonitoringSchedule(monitorings.temporal, id.cohortId, id.kind);
      return monitoringResult('monitor delete', [], context, { say: [`The schedule is deleted. ${say}`] });
    }
    await changeSetting(context.target.exchange, id, { enabled: false });
    await untilFollowed(monitorings, id, (schedule) => schedule === undefined || schedule.state.paused);
    const found = await monitorings.find(id);
    const views = found === undefined ? [] : [await monitoringView(monitorings.temporal, id, found)];
    return monitoringResult('monitor delete', views, context, {
      say: [`The setting is off; its schedule is paused, and goes with the cohort. ${say}`],
    });
  });

/** Throws RefusedError when there is no schedule, or the setting is off. */
export async function requireOn(monitorings: Monitorings, id: MonitoringId): Promise<ScheduleDescription> {
  const schedule = await monitorings.require(id);
  if (stateOf(schedule) !== 'off') return schedule;
  throw new RefusedError(
    `The ${id.kind} monitoring is off in the cohort’s settings. Switch it on with: npm run starter -- monitor create ${id.cohortId} ${id.kind}`,
  );
}

const viewOf = async (monitorings: Monitorings, id: MonitoringId): Promise<MonitoringView> =>
  monitoringView(monitorings.temporal, id, await monitorings.require(id));
