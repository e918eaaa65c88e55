import { type Client, ScheduleOverlapPolicy } from '@temporalio/client';
import type { DirectoryRefreshInput } from '../../../contract/directory-refresh-workflow.ts';
import {
  directoryRefreshWorkflowId,
  laneOf,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import {
  endSchedule,
  putSchedule,
} from '../../platform/workflows/schedules.ts';

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
  await putSchedule(
    temporal,
    {
      scheduleId,
      spec: {
        intervals: [{ every: everyHours * HOUR_MS }],
        // Not at the hour, as everybody else.
        jitter: Math.min(everyHours, 1) * (HOUR_MS / 2),
      },
      action: {
        type: 'startWorkflow',
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
    },
    { start: true },
  );
}

/** Deletes the Schedule, if there is one. A run under way goes on. */
export const endRefresh = (
  temporal: Client,
  directory: string,
): Promise<void> =>
  endSchedule(temporal, directoryRefreshWorkflowId(directory));
