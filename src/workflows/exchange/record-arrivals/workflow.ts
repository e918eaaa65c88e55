import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { ArrivalActivities } from '../../../activities/exchange/record-arrivals.ts';
import {
  ARRIVAL_WAIT_MS,
  RECORD_ARRIVALS_MESSAGES as MESSAGES,
} from '../../../contract/record-arrivals-workflow.ts';

const { mergeArrivals } = proxyActivities<ArrivalActivities>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  summary: 'Merge the records into which something has arrived',
});

/**
 * Merges the records of patients into which messages and contributions have
 * brought something, so that subscribers are told without a reader.
 *
 * Durable because what has arrived must be merged, whatever ends in between.
 * One execution with a fixed id: the first arrival starts it, and it ends when
 * nothing waits. What waits, and until when, stands in PostgreSQL; each step
 * merges what is due, and may run twice. A signal for each arrival is only a
 * hint.
 */
export async function recordArrivals(): Promise<void> {
  let hasArrived = false;
  let merged = 0;
  setHandler(defineSignal(MESSAGES.arrived), () => {
    hasArrived = true;
  });

  for (;;) {
    hasArrived = false;
    await sleep(ARRIVAL_WAIT_MS, { summary: 'wait for what comes with it' });
    const step = await mergeArrivals();
    merged += step.merged;
    setCurrentDetails(`- **${merged}** records merged`);

    if (!hasArrived && step.nextInMs === undefined) return;
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof recordArrivals>();
    const leftMs = (step.nextInMs ?? 0) - ARRIVAL_WAIT_MS;
    if (!hasArrived && leftMs > 0)
      await condition(() => hasArrived, leftMs, {
        summary: 'wait until the next record is due',
      });
  }
}
