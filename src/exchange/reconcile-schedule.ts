import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { SCHEDULE_IDS, TASK_QUEUES, WORKFLOW_TYPES } from '../contract/temporal.ts';

/** Sees that `reconcile` runs every `intervalSeconds`; changes the schedule when it is another interval. */
export async function ensureReconcileSchedule(temporal: Client, intervalSeconds: number): Promise<void> {
  const spec = { intervals: [{ every: intervalSeconds * 1_000 }] };
  const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' } as const;
  const action = {
    type: 'startWorkflow',
    workflowType: WORKFLOW_TYPES.reconcile,
    workflowId: 'reconcile',
    taskQueue: TASK_QUEUES.exchange,
    args: [],
  } as const;
  try {
    await temporal.schedule.create({ scheduleId: SCHEDULE_IDS.reconcile, spec, policies, action });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await temporal.schedule
      .getHandle(SCHEDULE_IDS.reconcile)
      .update((previous) => ({ ...previous, spec, policies, action: { ...action, args: [] } }));
  }
}
