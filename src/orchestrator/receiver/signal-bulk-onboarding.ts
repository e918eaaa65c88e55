import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { BULK_ONBOARDING_MESSAGES, type BulkCreateSignal } from '../../contract/bulk-onboarding.ts';
import { WORKFLOW_TYPES } from '../../contract/temporal.ts';

/** What a workflow writes into a search attribute is found a moment later. */
const VISIBILITY_LAG_MS = 1_000;

/**
 * Tells the bulk onboarding that waits for this request. E5 takes no metadata, so nothing in the webhook names the
 * workflow; the workflow names the request, in its search attribute. False when none was found.
 */
export async function signalBulkOnboarding(client: Client, event: BulkCreateSignal): Promise<boolean> {
  if (await tellWaiting(client, event)) return true;
  await sleep(VISIBILITY_LAG_MS);
  return tellWaiting(client, event);
}

async function tellWaiting(client: Client, event: BulkCreateSignal): Promise<boolean> {
  let told = false;
  for await (const { workflowId } of client.workflow.list({ query: waitingFor(event.requestId) })) {
    try {
      await client.workflow.getHandle(workflowId).signal(BULK_ONBOARDING_MESSAGES.bulkCreateEvent, event);
      told = true;
    } catch (error) {
      // It ended since.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
  return told;
}

/** The id has been checked to be one: it stands in a query language here. */
const waitingFor = (requestId: string): string =>
  `WorkflowType = '${WORKFLOW_TYPES.bulkOnboarding}' AND RequestId = '${requestId}' AND ExecutionStatus = 'Running'`;
