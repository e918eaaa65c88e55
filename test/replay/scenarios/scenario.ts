import type { WorkflowHandle } from '@temporalio/client';
import type { WorkerQueue } from '../../../src/temporal/task-queues.ts';

/**
 * One run of a workflow with activities that answer from a script: what
 * produced a recorded history.
 */
export interface Scenario {
  workflowType: string;
  workflowId: string;
  args: unknown[];
  activities: Partial<Record<WorkerQueue, object>>;
  /**
   * Where the workflow runs; by default in the lane whose activities the
   * scenario provides.
   */
  taskQueue?: WorkerQueue;
  /**
   * Of a workflow that continues as new; by default its last run is recorded.
   */
  recordsFirstRun?: boolean;
  /** Signals and updates; by default nothing happens from outside. */
  meanwhile?(handle: WorkflowHandle): Promise<unknown>;
}

export const ACCOUNT_ID = '01900000-0000-7000-8000-00000000000a';
export const REQUEST_ID = '01900000-0000-7000-8000-000000000001';

/**
 * Answers one after the other; an Error is thrown. The last one is repeated.
 */
export function inTurn<T>(...answers: (T | Error)[]): () => Promise<T> {
  let calls = 0;
  return async () => {
    const answer = answers[Math.min(calls++, answers.length - 1)];
    if (answer instanceof Error) throw answer;
    return answer as T;
  };
}
