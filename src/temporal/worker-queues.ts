import { ConfigError } from '../config.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { type QueueOfBothLanes, TASK_QUEUES } from '../contract/temporal.ts';

/** The queues of work that a caller waits for, and of both halves' small steps. */
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
];
export const BACKGROUND_QUEUES = QUEUES_OF_BOTH_LANES.map(TASK_QUEUES.background);

/** Activities by queue, also as those of the background lane. */
export function inBothLanes(
  activities: Partial<Record<WorkerQueue, object>>,
): Partial<Record<WorkerQueue, object>> {
  const twins = QUEUES_OF_BOTH_LANES.filter((queue) => activities[queue] !== undefined);
  return {
    ...activities,
    ...Object.fromEntries(twins.map((queue) => [TASK_QUEUES.background(queue), activities[queue]])),
  };
}

/** Every task queue that a worker process can serve. */
export const WORKER_QUEUES = [...INTERACTIVE_QUEUES, ...BACKGROUND_QUEUES] as const;
export type WorkerQueue = (typeof WORKER_QUEUES)[number];

/** The queues with workflows; workers of the others run activities only. */
export const WORKFLOW_QUEUES = [
  TASK_QUEUES.exchange,
  TASK_QUEUES.background(TASK_QUEUES.exchange),
  TASK_QUEUES.orchestrator,
] as const satisfies readonly WorkerQueue[];

/** Whether a worker with these queues does background work only. */
export const isBackgroundOnly = (queues: readonly WorkerQueue[]): boolean =>
  queues.every((queue) => BACKGROUND_QUEUES.some((background) => background === queue));

/** Parses WORKER_QUEUES: "all", or names separated by blanks or commas. Throws ConfigError with the list of valid names. */
export function parseWorkerQueues(text: string): WorkerQueue[] {
  if (text.trim() === 'all') return [...WORKER_QUEUES];
  const names = text
    .trim()
    .split(/[\s,]+/)
    .filter(Boolean);
  const unknown = names.filter((name) => !WORKER_QUEUES.some((queue) => queue === name));
  if (unknown.length > 0 || names.length === 0)
    throw new ConfigError(
      `WORKER_QUEUES: ${unknown.length > 0 ? `unknown: ${unknown.join(', ')}` : 'names no queue'} (all, or some of ${WORKER_QUEUES.join(', ')})`,
    );
  return WORKER_QUEUES.filter((queue) => names.includes(queue));
}
