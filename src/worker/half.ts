import type { Client } from '@temporalio/client';
import type { Logger } from '../lib/logger.ts';
import type { WorkerQueue } from '../temporal/worker-queues.ts';

/** What a worker process hosts of one half of the system: its activities by queue, built from its configuration. */
export interface Half {
  activities: Partial<Record<WorkerQueue, object>>;
  /** After the last activity: finishes what runs in the background and closes connections. */
  close(): Promise<void>;
}

/** What both halves are built from, next to their own configuration. */
export interface HalfDeps {
  logger: Logger;
  temporal: Client;
}
