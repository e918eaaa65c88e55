import { ConfigError } from '../config.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { TASK_QUEUES } from '../contract/temporal.ts';

/** Every task queue that a worker process can serve. */
export const WORKER_QUEUES = [
  TASK_QUEUES.exchange,
  TASK_QUEUES.webhooks,
  TASK_QUEUES.builds,
  ...SOURCE_TYPES.map(TASK_QUEUES.source),
  TASK_QUEUES.orchestrator,
] as const;
export type WorkerQueue = (typeof WORKER_QUEUES)[number];

/** Queues that were split off the queue `exchange`. */
const PARTS_OF_EXCHANGE: readonly WorkerQueue[] = [TASK_QUEUES.webhooks, TASK_QUEUES.builds];

/**
 * Parses WORKER_QUEUES: "all", or names separated by blanks or commas. A list with `exchange` that names none of the queues
 * split off it was perhaps written before they existed, so it includes them. Throws ConfigError with the list of valid names.
 */
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
  const includesParts =
    names.includes(TASK_QUEUES.exchange) && !PARTS_OF_EXCHANGE.some((queue) => names.includes(queue));
  return WORKER_QUEUES.filter(
    (queue) => names.includes(queue) || (includesParts && PARTS_OF_EXCHANGE.includes(queue)),
  );
}
