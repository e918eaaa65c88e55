import { ConfigError } from '../config.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { TASK_QUEUES } from '../contract/temporal.ts';

/** Every task queue that a worker process can serve. */
export const WORKER_QUEUES = [
  TASK_QUEUES.exchange,
  ...SOURCE_TYPES.map(TASK_QUEUES.source),
  TASK_QUEUES.orchestrator,
] as const;
export type WorkerQueue = (typeof WORKER_QUEUES)[number];

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
