import {
  defineQuery,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { DeferredDiscoveryActivities } from '../../../activities/exchange/deferred-discovery.ts';
import {
  type DeferredDiscoveryInput,
  type DeferredDiscoveryProgress,
  DEFERRED_DISCOVERY_MESSAGES as MESSAGES,
} from '../../../contract/deferred-discovery-workflow.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import { endAfter, rowActivities } from '../../shared/failures.ts';

const { deliverDiscoveryAnswer } = proxyActivities<
  Pick<DeferredDiscoveryActivities, 'deliverDiscoveryAnswer'>
>({
  taskQueue: TASK_QUEUES.partners,
  startToCloseTimeout: '3 minutes',
  heartbeatTimeout: '15 seconds',
  scheduleToCloseTimeout: '24 hours',
  retry: { initialInterval: '5 seconds', maximumInterval: '30 minutes' },
  summary: 'Answer the question, and send the answer',
});
const { failDiscoveryAnswer } = rowActivities<
  Pick<DeferredDiscoveryActivities, 'failDiscoveryAnswer'>
>('Give the question up');

/**
 * Answers a gateway's patient discovery later, at the address that it gave.
 *
 * Durable because the gateway was promised an answer, and may be away for
 * hours. Keyed by the question's id. The question's row in PostgreSQL is the
 * source of truth; a step that runs twice may send the same answer twice, which
 * the gateway tells by its own message id. History: about 10 events.
 */
export async function deferredDiscovery(
  input: DeferredDiscoveryInput,
): Promise<DeferredDiscoveryProgress> {
  const { questionId } = input;
  let progress: DeferredDiscoveryProgress = { questionId, state: 'answering' };
  setHandler(
    defineQuery<DeferredDiscoveryProgress>(MESSAGES.status),
    () => progress,
  );
  setCurrentDetails('Sending the answer');

  const { state } = await deliverDiscoveryAnswer(input).catch(
    (error: unknown) => endAfter(error, () => failDiscoveryAnswer(input)),
  );
  progress = { questionId, state };
  setCurrentDetails(`**${DESCRIPTION[state]}**`);
  return progress;
}

const DESCRIPTION = {
  delivered: 'Delivered',
  failed: 'Failed: the gateway did not take the answer',
  gone: 'Nothing to answer: it ended before, or the membership was paused',
} as const;
