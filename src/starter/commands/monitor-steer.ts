import { ScheduleOverlapPolicy } from '@temporalio/client';
import { deleteMonitoringSchedule } from '../../temporal/monitoring-control.ts';
import { RefusedError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { workflowLink } from '../links.ts';
import { type MonitoringView, monitoringView } from '../progress/monitoring-view.ts';
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
    const before = await requireOn(monitorings, id);
    const { info } = await monitorings.require(id);
    if (info.runningActions.length > 0)
      throw new RefusedError('A run is on already; it asks about everybody.');
    await monitorings.handle(id).trigger(ScheduleOverlapPolicy.SKIP);
    const after = await untilRun(monitorings, id, before.lastRun?.workflowId);
    const workflowId = after.lastRun?.workflowId;
    const isStarted = workflowId !== undefined && workflowId !== before.lastRun?.workflowId;
    return monitoringResult('monitor trigger', [after], context, {
      exitCode: isStarted ? EXIT.done : EXIT.running,
      say: isStarted
        ? [
            `Run ${workflowId} has started. How it goes: npm run starter -- monitor list ${id.cohortId}`,
            ...(context.target.ui === undefined ? [] : [`Run: ${workflowLink(context.target.ui, workflowId)}`]),
          ]
        : ['Temporal has taken the request, but has not begun the run yet.'],
    });
  });

async function untilRun(
  monitorings: Monitorings,
  id: MonitoringId,
  known: string | undefined,
): Promise<MonitoringView> {
  const signal = AbortSignal.timeout(STARTS_WITHIN_MS);
  for (;;) {
    const view = await viewOf(monitorings, id);
    if (signal.aborted || (view.lastRun !== undefined && view.lastRun.workflowId !== known)) return view;
    await pause(LOOK_AGAIN_MS, signal);
  }
}

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
    await untilFollowed(monitorings, id, (view) => view === undefined || view.state !== 'on');
    const found = await monitorings.find(id);
    const views = found === undefined ? [] : [await monitoringView(monitorings.temporal, id, found)];
    return monitoringResult('monitor delete', views, context, {
      say: [`The setting is off; its schedule is paused, and goes with the cohort. ${say}`],
    });
  });

/** Throws RefusedError when there is no schedule, or the setting is off. */
export async function requireOn(monitorings: Monitorings, id: MonitoringId): Promise<MonitoringView> {
  const view = await viewOf(monitorings, id);
  if (view.state !== 'off') return view;
  throw new RefusedError(
    `The ${id.kind} monitoring is off in the cohort’s settings. Switch it on with: npm run starter -- monitor create ${id.cohortId} ${id.kind}`,
  );
}

const viewOf = async (monitorings: Monitorings, id: MonitoringId): Promise<MonitoringView> =>
  monitoringView(monitorings.temporal, id, await monitorings.require(id));
