import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import {
  BULK_ONBOARDING_MESSAGES,
  type BulkCreateSignal,
  type BulkOnboardingInput,
  type BulkOnboardingStatus,
  type BulkOnboardingSummary,
} from '../../../contract/bulk-onboarding.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { BulkOnboarding } from './bulk-onboarding.ts';
import type { BulkState } from './bulk-state.ts';
import { detailsOf } from './details.ts';
import { type BulkCalls, bulkCalls } from './exchange-calls.ts';
import { overallStatus, statusOf, summaryOf } from './report.ts';
import { cancelRequest, discardUpload, poll, readResult, request, steer, upload } from './steps.ts';

const bulkCreateEvent = defineSignal<[BulkCreateSignal]>(BULK_ONBOARDING_MESSAGES.bulkCreateEvent);
const status = defineQuery<BulkOnboardingStatus>(BULK_ONBOARDING_MESSAGES.status);
const pause = defineUpdate<BulkOnboardingStatus>(BULK_ONBOARDING_MESSAGES.pause);
const resume = defineUpdate<BulkOnboardingStatus>(BULK_ONBOARDING_MESSAGES.resume);

/**
 * Brings a whole panel into an exchange: asks for an upload URL, sends the file, waits for up to seven days, reads the
 * result. It is durable because a file takes seconds to days, an upload URL passes, webhooks get lost and processes
 * restart meanwhile. Keyed by an id derived from the caller's job id, so a job runs once. An upload may be sent twice,
 * and a file may come in by two requests when the exchange lost one: each row creates or updates, so that is harmless.
 * History holds counts and references of files, never a row.
 */
export async function bulkOnboarding(
  input: BulkOnboardingInput,
  carried?: BulkState,
): Promise<BulkOnboardingSummary> {
  const bulk = new BulkOnboarding(input, Date.now(), carried);
  const calls = bulkCalls(input);
  const snapshot = () => statusOf(bulk.state, input);
  const show = () => setCurrentDetails(detailsOf(snapshot()));
  setHandler(status, snapshot);
  setHandler(bulkCreateEvent, (event) => {
    bulk.webhook(event);
    show();
  });
  for (const [how, update] of [
    ['pause', pause],
    ['resume', resume],
  ] as const)
    setHandler(
      update,
      async () => {
        await steer(bulk, calls, how);
        show();
        return snapshot();
      },
      { validator: () => assertProcessing(bulk) },
    );

  try {
    while (bulk.state.phase !== 'ended') {
      show();
      await step(bulk, calls, input, show);
    }
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    // A call that failed under the cancellation is not why the workflow ends.
    if (!isCancellation(error) && !CancellationScope.current().consideredCancelled) {
      await discardUpload(calls);
      throw error;
    }
    bulk.state.phase = 'cancelling';
    show();
    await CancellationScope.nonCancellable(async () => {
      await cancelRequest(bulk, calls);
      await discardUpload(calls);
    });
    throw isCancellation(error) ? error : new CancelledFailure('Cancelled');
  }
  await CancellationScope.nonCancellable(() => discardUpload(calls));
  await condition(allHandlersFinished);
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: overallStatus(bulk.state) }]);
  show();
  return summaryOf(bulk.state, input);
}

async function step(
  bulk: BulkOnboarding,
  calls: BulkCalls,
  input: BulkOnboardingInput,
  show: () => void,
): Promise<void> {
  switch (bulk.state.phase) {
    case 'requesting':
      return request(bulk, calls);
    case 'uploading':
      return upload(bulk, calls);
    case 'processing':
      return waitForExchange(bulk, calls, input, show);
    case 'reading-result':
      return readResult(bulk, calls);
    case 'cancelling':
    case 'ended':
      return;
  }
}

async function waitForExchange(
  bulk: BulkOnboarding,
  calls: BulkCalls,
  input: BulkOnboardingInput,
  show: () => void,
): Promise<void> {
  for (;;) {
    show();
    const next = bulk.next(Date.now());
    switch (next.kind) {
      case 'done':
        return bulk.closeWaiting();
      case 'wait':
        if (workflowInfo().continueAsNewSuggested) {
          await condition(allHandlersFinished);
          await continueAsNew<typeof bulkOnboarding>(input, bulk.state);
        }
        await condition(() => bulk.isSettled, next.ms, { summary: WAITS[next.for] });
        break;
      case 'poll':
        await poll(bulk, calls);
        break;
      case 'give-up':
        bulk.giveUp();
        break;
    }
  }
}

function assertProcessing({ state }: BulkOnboarding): void {
  if (state.phase === 'processing' && state.ending === undefined) return;
  throw ApplicationFailure.nonRetryable('The exchange is not handling the file now', 'conflict');
}

const WAITS = {
  status: 'Wait for the webhook; then look at the status',
  deadline: 'Wait for the webhook until the deadline',
} as const;
