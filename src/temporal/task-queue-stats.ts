import type { TemporalClient } from './client.ts';
import { WORKER_QUEUES, WORKFLOW_QUEUES, type WorkerQueue } from './worker-queues.ts';

const TYPES = { workflow: 1, activity: 2 } as const;
/** Longer than a long poll (1 minute), after which a living worker shows itself again. */
const POLLED_WITHIN_MS = 90_000;
const DEADLINE_MS = 3_000;

export interface TaskQueueStats {
  queue: WorkerQueue;
  type: keyof typeof TYPES;
  /** Approximate number of tasks that wait for a worker. */
  backlog: number;
  backlogSeconds: number;
  /** Workers that polled it within the last 90 s. */
  pollers: number;
}

/** What waits in each task queue of the system, as Temporal reports it. Throws when Temporal does not answer in time. */
export async function readTaskQueueStats(client: TemporalClient): Promise<TaskQueueStats[]> {
  const asked = WORKER_QUEUES.flatMap((queue) =>
    (Object.keys(TYPES) as (keyof typeof TYPES)[])
      .filter((type) => type === 'activity' || WORKFLOW_QUEUES.some((each) => each === queue))
      .map((type) => ({ queue, type })),
  );
  // All calls have ended when this returns: the SDK repeats failed ones, which must not happen on a closed connection.
  const stats = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
    Promise.allSettled(asked.map(({ queue, type }) => statsOf(client, queue, type))),
  );
  return stats.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}

async function statsOf(
  client: TemporalClient,
  queue: WorkerQueue,
  type: keyof typeof TYPES,
): Promise<TaskQueueStats> {
  const { stats, pollers } = await client.connection.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: queue },
    taskQueueType: TYPES[type],
    reportStats: true,
  });
  const age = stats?.approximateBacklogAge;
  return {
    queue,
    type,
    backlog: Number(stats?.approximateBacklogCount ?? 0),
    backlogSeconds: Number(age?.seconds ?? 0) + Number(age?.nanos ?? 0) / 1e9,
    pollers: (pollers ?? []).filter(
      ({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 > Date.now() - POLLED_WITHIN_MS,
    ).length,
  };
}
