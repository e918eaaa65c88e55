import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { DirectoryRefreshInput } from '../../../contract/directory-refresh-workflow.ts';
import {
  directoryRefreshWorkflowId,
  laneOf,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';

const CALL_TIMEOUT_MS = 5_000;
const HOUR_MS = 60 * 60_000;

/**
 * Makes or changes the Temporal Schedule that refreshes a directory, and starts
 * a run at once. Throws when Temporal does not answer.
 */
export async function scheduleRefresh(
  temporal: Client,
  directory: string,
  everyHours: number,
): Promise<void> {
  const scheduleId = directoryRefreshWorkflowId(directory);
  const input: DirectoryRefreshInput = { directory };
  const schedule = {
    spec: {
      intervals: [{ every: everyHours * HOUR_MS }],
      // Not at the hour, as everybody else.
      jitter: Math.min(everyHours, 1) * (HOUR_MS / 2),
    },
    action: {
      type: 'startWorkflow' as const,
      workflowType: WORKFLOW_TYPES.directoryRefresh,
      workflowId: scheduleId,
      taskQueue: laneOf(PRIORITY.monitoring),
      args: [input],
      staticSummary: `Refresh of the directory ${directory}`,
    },
    policies: {
      overlap: ScheduleOverlapPolicy.SKIP,
      catchupWindow: everyHours * HOUR_MS,
    },
  };
  const handle = temporal.schedule.getHandle(scheduleId);
  await temporal.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
    try {
      await temporal.schedule.create({ ...schedule, scheduleId });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await handle.update(({ state }) => ({ ...schedule, state }));
    }
    await handle.trigger(ScheduleOverlapPolicy.SKIP);
  });
}

/** Deletes the Schedule, if there is one. A run under way goes on. */
export async function endRefresh(
  temporal: Client,
  directory: string,
): Promise<void> {
  const handle = temporal.schedule.getHandle(
    directoryRefreshWorkflowId(directory),
  );
  await temporal
    .withDeadline(Date.now() + CALL_TIMEOUT_MS, () => handle.delete())
    .catch((error: unknown) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    });
}
