import { proxyActivities } from '@temporalio/workflow';
import type { RecordActivities } from '../../../activities/exchange/network-query-record.ts';
import type { SourceActivities } from '../../../activities/exchange/network-query-source.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import { OUR_RETRIES, SOURCE_RETRIES } from '../../../exchange/queries/network-query/rules/retries.ts';
import { inOwnLane } from '../../shared/own-lane.ts';

/**
 * The activities that talk to one source. They run on the source's own task queue, with its own retries.
 *
 * @param remainingMs until the attempt's deadline; the activity fails when it passes
 */
export function sourceActivities(source: SourceType, remainingMs: number, summary: string) {
  return proxyActivities<SourceActivities>({
    taskQueue: inOwnLane(TASK_QUEUES.source(source)),
    startToCloseTimeout: SOURCE_RETRIES[source].startToCloseMs,
    scheduleToCloseTimeout: remainingMs,
    heartbeatTimeout: '30 seconds',
    retry: OUR_RETRIES,
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
