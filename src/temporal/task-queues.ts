import { ConfigError } from '../config.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { type QueueOfBothLanes, TASK_QUEUES } from '../contract/temporal.ts';
import type { TemporalClient } from './client.ts';

const TYPES = { workflow: 1, activity: 2 } as const;
/**
 * Longer than a long poll (1 minute), after which a living worker shows itself
 * again.
 */
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

/**
 * What waits in each task queue of the system, as Temporal reports it. Throws
 * when Temporal does not answer in time.
 */
export async function readTaskQueueStats(
  client: TemporalClient,
): Promise<TaskQueueStats[]> {
  const asked = WORKER_QUEUES.flatMap((queue) =>
    (Object.keys(TYPES) as (keyof typeof TYPES)[])
      .filter(
        (type) =>
          type === 'activity' || WORKFLOW_QUEUES.some((each) => each === queue),
      )
      .map((type) => ({ queue, type })),
  );
  // All calls have ended when this returns: the SDK repeats failed ones, which
  // must not happen on a closed connection.
  const stats = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
    Promise.allSettled(
      asked.map(({ queue, type }) => statsOf(client, queue, type)),
    ),
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
  const { stats, pollers } =
    await client.connection.workflowService.describeTaskQueue({
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
      ({ lastAccessTime }) =>
        Number(lastAccessTime?.seconds ?? 0) * 1_000 >
        Date.now() - POLLED_WITHIN_MS,
    ).length,
  };
}

/**
 * The queues of work that a caller waits for, and of both services' small
 * steps.
 */
export const INTERACTIVE_QUEUES = [
  TASK_QUEUES.exchange,
  TASK_QUEUES.webhooks,
  TASK_QUEUES.partners,
  TASK_QUEUES.builds,
  ...SOURCE_TYPES.map(TASK_QUEUES.source),
  TASK_QUEUES.orchestrator,
] as const;

/** The queues that exist a second time, for background work. */
export const QUEUES_OF_BOTH_LANES: readonly QueueOfBothLanes[] = [
  TASK_QUEUES.exchange,
  TASK_QUEUES.builds,
  ...SOURCE_TYPES.map(TASK_QUEUES.source),
  TASK_QUEUES.networks,
];
/**
 * The queues of workers that yield to what callers wait for: background work,
 * and the steps on the gateways of networks. Those take a minute or more, and
 * seconds of CPU for a thousand gateways.
 */
export const BACKGROUND_QUEUES = [
  TASK_QUEUES.networks,
  ...QUEUES_OF_BOTH_LANES.map(TASK_QUEUES.background),
] as const;

/** Activities by queue, also as those of the background lane. */
export function inBothLanes(
  activities: Partial<Record<WorkerQueue, object>>,
): Partial<Record<WorkerQueue, object>> {
  const twins = QUEUES_OF_BOTH_LANES.filter(
    (queue) => activities[queue] !== undefined,
  );
  return {
    ...activities,
    ...Object.fromEntries(
      twins.map((queue) => [TASK_QUEUES.background(queue), activities[queue]]),
    ),
  };
}

/** Every task queue that a worker process can serve. */
export const WORKER_QUEUES = [
  ...INTERACTIVE_QUEUES,
  ...BACKGROUND_QUEUES,
] as const;
export type WorkerQueue = (typeof WORKER_QUEUES)[number];

/** The queues with workflows; workers of the others run activities only. */
export const WORKFLOW_QUEUES = [
  TASK_QUEUES.exchange,
  TASK_QUEUES.background(TASK_QUEUES.exchange),
  TASK_QUEUES.orchestrator,
] as const satisfies readonly WorkerQueue[];

/** Whether a worker with these queues does background work only. */
export const isBackgroundOnly = (queues: readonly WorkerQueue[]): boolean =>
  queues.every((queue) =>
    BACKGROUND_QUEUES.some((background) => background === queue),
  );

/**
 * Parses WORKER_QUEUES: "all", or names separated by blanks or commas. Throws
 * ConfigError with the list of valid names.
 */
export function parseWorkerQueues(text: string): WorkerQueue[] {
  if (text.trim() === 'all') return [...WORKER_QUEUES];
  const names = text
    .trim()
    .split(/[\s,]+/)
    .filter(Boolean);
  const unknown = names.filter(
    (name) => !WORKER_QUEUES.some((queue) => queue === name),
  );
  if (unknown.length > 0 || names.length === 0)
    throw new ConfigError(
      `WORKER_QUEUES: ${unknown.length > 0 ? `unknown: ${unknown.join(', ')}` : 'names no queue'} (all, or some of ${WORKER_QUEUES.join(', ')})`,
    );
  return WORKER_QUEUES.filter((queue) => names.includes(queue));
}
