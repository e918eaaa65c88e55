import type { WorkerQueue } from '../temporal/task-queues.ts';
import type { OnRefused } from '../temporal/workers.ts';

/**
 * What a worker process hosts of one of the two services: its activities by
 * task queue.
 */
export interface HostedService {
  activities: Partial<Record<WorkerQueue, object>>;
  /** Takes note of input that was refused because it was not encrypted. */
  recordRefusal?: OnRefused;
  /**
   * Finishes background work and closes connections. Call it after the last
   * activity has ended.
   */
  close(): Promise<void>;
}
