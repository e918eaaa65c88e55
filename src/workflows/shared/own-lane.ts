import { workflowInfo } from '@temporalio/workflow';
import { type QueueOfBothLanes, TASK_QUEUES } from '../../contract/temporal.ts';

/** The queue for a step of the current workflow: a workflow of the background lane has its steps there. */
export const inOwnLane = (queue: QueueOfBothLanes): string =>
  workflowInfo().taskQueue === TASK_QUEUES.background(TASK_QUEUES.exchange)
    ? TASK_QUEUES.background(queue)
    : queue;
