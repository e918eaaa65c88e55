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

/** Temporal queues at most a thousand runs; a hundred covers two years of weekly runs. */
const RUNS_MAX = 100;

/**
 * Runs all scheduled runs of a past period, one after the other. Each uses its own scheduled date, so a patient who was
 * already queried in that run's period is not queried again. Throws UsageError, RefusedError.
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
    if (times.length === 0)
      throw new RefusedError('No run of this schedule falls into the period from --from to --to.');
    if (times.length > RUNS_MAX)
      throw new RefusedError(
        `The period contains ${times.length} runs; the maximum is ${RUNS_MAX}. Pass a shorter period.`,
      );
    await handle.backfill({ start: from, end: to, overlap: ScheduleOverlapPolicy.BUFFER_ALL });
    const view = await monitoringView(monitorings.temporal, id, await monitorings.require(id));
    const result = await monitoringResult('monitor backfill', [view], context, {
      say: [
        `${times.length} ${times.length === 1 ? 'run was' : 'runs were'} queued. Check on them with: npm run starter -- monitor list ${id.cohortId}`,
      ],
    });
    return { ...result, document: { ...result.document, runs: times.length } };
  });
};

/** The protocol declares 64-bit seconds; the library accepts a number too. */
const timestamp = (at: Date) => ({ seconds: Math.floor(at.getTime() / 1_000) as never });
