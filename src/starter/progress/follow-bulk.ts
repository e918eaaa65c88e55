import {
  BULK_ONBOARDING_MESSAGES,
  type BulkOnboardingStatus,
  type BulkOnboardingSummary,
} from '../../contract/bulk-onboarding.ts';
import type { BulkOnboardingHandle } from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import type { BulkStatusAnswer } from '../../orchestrator/client/answers.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { type BulkView, bulkView, type KnownOfBulk } from './bulk-view.ts';
import { type Following, followWorkflow, lookAtWorkflow } from './follow-workflow.ts';
import type { FollowOptions } from './poll-exchange.ts';
import { askWorkflow } from './workflow-state.ts';

const NO_WORKER = 'no worker answers; the work continues when one is available';

/** Follows a bulk onboarding until it ends; see `followWorkflow`. */
export const followBulk = (
  handle: BulkOnboardingHandle,
  onChange: (view: BulkView) => void,
  { client, ...options }: FollowOptions & { client: ExchangeClient },
): Promise<BulkView> => followWorkflow(bulkFollowing(handle, client), onChange, options);

/** Reads the state of a bulk onboarding once; see `lookAtWorkflow`. */
export const lookAtBulk = (handle: BulkOnboardingHandle, client: ExchangeClient): Promise<BulkView> =>
  lookAtWorkflow(bulkFollowing(handle, client));

const bulkFollowing = (
  handle: BulkOnboardingHandle,
  client: ExchangeClient,
): Following<KnownOfBulk, BulkOnboardingSummary, BulkView> => ({
  handle,
  nothing: {},
  look: (_, signal) => look(handle, client, signal),
  addEnd: async (known, end) => ({ ...known, end }),
  view: bulkView,
});

async function look(
  handle: BulkOnboardingHandle,
  client: ExchangeClient,
  signal?: AbortSignal,
): Promise<KnownOfBulk> {
  const status = await askWorkflow<BulkOnboardingStatus>(handle, BULK_ONBOARDING_MESSAGES.status);
  if (status === undefined) return { problem: NO_WORKER };
  const requestId = status.requestIds.at(-1);
  const isProcessing = status.phase === 'processing' && requestId !== undefined;
  return { status, request: isProcessing ? await requestOf(client, requestId, signal) : undefined };
}

/** The request's state at the exchange; undefined when the exchange does not return it. The workflow has counts of its own. */
async function requestOf(
  client: ExchangeClient,
  requestId: string,
  signal?: AbortSignal,
): Promise<BulkStatusAnswer | undefined> {
  try {
    return (await client.call('getBulkCreate', { params: { requestId } }, { signal })).answer;
  } catch (error) {
    if (error instanceof ExchangeCallError || signal?.aborted === true) return undefined;
    throw error;
  }
}
