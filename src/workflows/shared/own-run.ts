import {
  makeContinueAsNewFunc,
  type Workflow,
  workflowInfo,
} from '@temporalio/workflow';
import { type QueueOfBothLanes, TASK_QUEUES } from '../../contract/temporal.ts';

/**
 * Whether this run is on a worker with Worker Versioning. Temporal refuses what
 * another worker completes for a pinned run.
 */
export const isVersioned = (): boolean =>
  (workflowInfo().currentDeploymentVersion?.deploymentName ?? '') !== '';

/**
 * A run stays with its build for at least this long, so that a build that
 * cannot be reached does not make it turn in circles.
 */
const STAYS_MS = 60_000;

/**
 * Whether another build is current now than the one to which this run is
 * pinned: it should continue as new at a quiet point.
 */
export function hasNewerBuild(): boolean {
  const { targetWorkerDeploymentVersionChanged, runStartTime } = workflowInfo();
  return (
    targetWorkerDeploymentVersionChanged &&
    Date.now() - runStartTime.getTime() >= STAYS_MS
  );
}

/**
 * Continues as new, with the build that is current now. Without this, a pinned
 * workflow stays with its first build for ever.
 */
export const continueWithCurrentBuild = <F extends Workflow>(
  ...args: Parameters<F>
): Promise<never> =>
  makeContinueAsNewFunc<F>(
    isVersioned() ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {},
  )(...args);

/**
 * The queue for a step of the current workflow: a workflow of the background
 * lane has its steps there.
 */
export const inOwnLane = (queue: QueueOfBothLanes): string =>
  workflowInfo().taskQueue === TASK_QUEUES.background(TASK_QUEUES.exchange)
    ? TASK_QUEUES.background(queue)
    : queue;
