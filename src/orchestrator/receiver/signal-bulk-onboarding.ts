import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { BULK_ONBOARDING_MESSAGES, type BulkCreateSignal } from '../../contract/bulk-onboarding.ts';
import { WORKFLOW_TYPES } from '../../contract/temporal.ts';

/** Temporal's visibility store finds a new search attribute with this delay. */
const VISIBILITY_LAG_MS = 1_000;

/**
 * Signals the bulk onboarding that waits for this request. E5 accepts no metadata, so the webhook does not identify the
 * workflow; the workflow is found by the request id in its search attributes. Returns false when none was found.
 */
export async function signalBulkOnboarding(client: Client, event: BulkCreateSignal): Promise<boolean> {
  if (await signalWaiting(client, event)) return true;
  await sleep(VISIBILITY_LAG_MS);
  return signalWaiting(client, event);
}

async function signalWaiting(client: Client, event: BulkCreateSignal): Promise<boolean> {
  let found = false;
  for await (const { workflowId } of client.workflow.list({ query: waitingFor(event.requestId) })) {
    try {
      await client.workflow.getHandle(workflowId).signal(BULK_ONBOARDING_MESSAGES.bulkCreateEvent, event);
      found = true;
    } catch (error) {
      // The workflow has ended since the search.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
  return found;
}

/** `requestId` has been validated, so it is safe to insert it into the query. */
const waitingFor = (requestId: string): string =>
  `WorkflowType = '${WORKFLOW_TYPES.bulkOnboarding}' AND RequestId = '${requestId}' AND ExecutionStatus = 'Running'`;
