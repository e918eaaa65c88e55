import { ScheduleOverlapPolicy } from '@temporalio/client';
import { RefusedError, UsageError } from '../errors.ts';
import { monitoringView } from '../progress/monitoring-view.ts';
import { type MonitoringId, withMonitorings } from '../target/monitorings.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';
import { monitoringResult } from './monitor-report.ts';
import { requireOn } from './monitor-steer.ts';

export interface MonitorBackfillOptions extends CommonOptions {
  from: Date;
  to: Date;
}

/** Temporal keeps no more than a thousand runs waiting; a hundred is two years of weekly ones. */
const RUNS_MAX = 100;

/**
 * Makes up for all runs of a past time, one after the other. Each works as if it were its day, so a patient who was
 * asked about in its period is not asked again.
 */
export const monitorBackfill = (
  id: MonitoringId,
  { from, to }: MonitorBackfillOptions,
  context: CommandContext,
): Promise<CommandResult> => {
  if (from >= to) throw new UsageError('--from must be before --to.');
  if (to.getTime() > Date.now()) throw new UsageError('--to must not be in the future.');
  return withMonitorings(context, async (monitorings) => {
    await requireOn(monitorings, id);
    const handle = monitorings.handle(id);
    const { startTime: times } = await monitorings.temporal.workflowService.listScheduleMatchingTimes({
      namespace: monitorings.temporal.options.namespace,
      scheduleId: handle.scheduleId,
      startTime: timestamp(from),
      endTime: timestamp(to),
    });
    if (times.length === 0) throw new RefusedError('No run of this schedule falls into that time.');
    if (times.length > RUNS_MAX)
      throw new RefusedError(`That would be ${times.length} runs; give a time with at most ${RUNS_MAX}.`);
    await handle.backfill({ start: from, end: to, overlap: ScheduleOverlapPolicy.BUFFER_ALL });
    const view = await monitoringView(monitorings.temporal, id, await monitorings.require(id));
    const result = monitoringResult('monitor backfill', [view], context, {
      say: [
        `${times.length} ${times.length === 1 ? 'run is' : 'runs are'} made up for, one after the other.`,
      ],
    });
    return { ...result, document: { ...result.document, runs: times.length } };
  });
};

/** Seconds of the protocol are 64 bit; a number is taken as well. */
const timestamp = (at: Date) => ({ seconds: Math.floor(at.getTime() / 1_000) as never });
