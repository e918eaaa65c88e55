import { TASK_QUEUES } from '../contract/temporal.ts';
import type { WorkerQueue } from '../temporal/task-queues.ts';
import { activitySlots } from '../temporal/workers.ts';

/**
 * Activities hold a connection only during their short transactions, so several
 * share one. A transaction that gets none within 10 s fails and is tried again;
 * with ten slots per connection that takes transactions of a second on average.
 */
const SLOTS_PER_CONNECTION = 10;

/**
 * A warning if a worker with these queues has too few connections; undefined if
 * it has enough.
 */
export function poolWarning(
  queues: readonly WorkerQueue[],
  poolMax: number,
): string | undefined {
  // Activities of the orchestrator call the interface and use no database.
  const slots = queues
    .filter((queue) => queue !== TASK_QUEUES.orchestrator)
    .reduce((sum, queue) => sum + activitySlots(queue), 0);
  const needed = Math.ceil(slots / SLOTS_PER_CONNECTION);
  if (poolMax >= needed) return undefined;
  return `DATABASE_POOL_MAX is ${poolMax}, too few for the ${slots} concurrent activities of this worker: set it to at least ${needed}, or serve fewer queues (WORKER_QUEUES)`;
}
