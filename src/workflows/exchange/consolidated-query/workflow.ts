import {
  defineQuery,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { ConsolidatedActivities } from '../../../activities/exchange/consolidated-query.ts';
import {
  type ConsolidatedProgress,
  type ConsolidatedQueryInput,
  CONSOLIDATED_MESSAGES as MESSAGES,
  CONSOLIDATED_END_REASONS as REASONS,
} from '../../../contract/consolidated-query-workflow.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { endAfter, rowActivities } from '../../shared/failures.ts';

/**
 * Failures on our side are retried until the deadline, however many there are.
 * A killed activity starts over within seconds.
 */
const { buildConsolidated } = proxyActivities<
  Pick<ConsolidatedActivities, 'buildConsolidated'>
>({
  // Not among the small steps, which would wait behind it.
  taskQueue: TASK_QUEUES.builds,
  startToCloseTimeout: '1 hour',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '5 minutes' },
  summary: 'Merge the record, write the result, announce it',
});
const { failConsolidated } = rowActivities<
  Pick<ConsolidatedActivities, 'failConsolidated'>
>('End the query as failed');

/**
 * Writes a patient's merged record to a file and announces it
 * (`medical.consolidated-data`).
 *
 * Durable because a large record takes minutes, and the caller waits for a
 * webhook that must be sent. Keyed by the query's id. The query's row in
 * PostgreSQL is the source of truth; every step reads it first, so each may run
 * twice. History: about 12 events.
 */
export async function consolidatedQuery(
  input: ConsolidatedQueryInput,
): Promise<ConsolidatedProgress> {
  const { requestId } = input;
  let progress: ConsolidatedProgress = { requestId, state: 'processing' };
  setHandler(
    defineQuery<ConsolidatedProgress>(MESSAGES.status),
    () => progress,
  );
  setCurrentDetails('Building the record');

  const end = await buildConsolidated(input).catch((error: unknown) =>
    endAfter(error, (byOperator) =>
      failConsolidated({
        ...input,
        reason: byOperator ? REASONS.byOperator : REASONS.ourFault,
      }),
    ),
  );
  const { state, sizeBytes, reason = 'The patient was deleted' } = end;
  progress =
    state === 'completed'
      ? { requestId, state, sizeBytes }
      : { requestId, state: 'failed', reason };
  setCurrentDetails(
    state === 'completed'
      ? `**Completed**, ${sizeBytes ?? 0} bytes`
      : `**Failed**: ${reason}`,
  );
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: progress.state },
  ]);
  return progress;
}
