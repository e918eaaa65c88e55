import { proxyActivities } from '@temporalio/workflow';
import type { RecordActivities } from '../../../activities/exchange/network-query-record.ts';
import type { SourceActivities } from '../../../activities/exchange/network-query-source.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import { inOwnLane } from '../../shared/own-lane.ts';
import { SOURCE_POLICIES } from './source-policy.ts';

/**
 * The activities that talk to one source. They run on the source's own task queue, under its policy.
 *
 * @param remainingMs until the attempt's deadline; the activity fails when it passes
 */
export function sourceActivities(source: SourceType, remainingMs: number, summary: string) {
  const policy = SOURCE_POLICIES[source];
  return proxyActivities<SourceActivities>({
    taskQueue: inOwnLane(TASK_QUEUES.source(source)),
    startToCloseTimeout: policy.startToClose,
    scheduleToCloseTimeout: remainingMs,
    heartbeatTimeout: policy.heartbeatTimeout,
    retry: policy.retry,
    summary,
  });
}

/** The activities that record what happened; retried until they succeed. */
export const recordActivities = (summary: string) =>
  proxyActivities<RecordActivities>({
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '500ms', maximumInterval: '30 seconds' },
    summary,
  });
