import type { Client } from '@temporalio/client';
import type { Registry } from 'prom-client';
import type { Logger } from '../lib/logger.ts';
import type { WorkerQueue } from '../temporal/task-queues.ts';

/** What a worker process hosts of one half of the system: its activities by task queue. */
export interface Half {
  activities: Partial<Record<WorkerQueue, object>>;
  /** Finishes background work and closes connections. Call it after the last activity has ended. */
  close(): Promise<void>;
}

/** Dependencies that a half needs besides its own configuration. */
export interface HalfDeps {
  logger: Logger;
  temporal: Client;
  metrics: Registry;
}
