import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { SCHEDULE_IDS, TASK_QUEUES, WORKFLOW_TYPES } from '../../../contract/temporal.ts';

/**
 * Creates the schedule `reconcile`, or updates its interval. Several workers may call it concurrently. A pause set by an
 * operator is kept.
 */
export async function ensureReconcileSchedule(client: Client, intervalSeconds: number): Promise<void> {
  const spec = { intervals: [{ every: intervalSeconds * 1_000 }] };
  const action = {
    type: 'startWorkflow' as const,
    workflowType: WORKFLOW_TYPES.reconcile,
    workflowId: SCHEDULE_IDS.reconcile,
    taskQueue: TASK_QUEUES.exchange,
  };
  // One round does the work of all missed rounds.
  const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' as const };
  try {
    await client.schedule.create({ scheduleId: SCHEDULE_IDS.reconcile, spec, action, policies });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule
      .getHandle(SCHEDULE_IDS.reconcile)
      .update(({ state }) => ({ spec, action, policies, state }));
  }
}
