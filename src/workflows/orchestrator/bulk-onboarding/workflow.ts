import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  patched,
  setCurrentDetails,
  setHandler,
  TemporalFailure,
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
import { bulkOnboardingDetails } from './details.ts';
import { type BulkCalls, bulkCalls } from './exchange-calls.ts';
import { bulkOnboardingOutcome, bulkOnboardingStatus, bulkOnboardingSummary } from './report.ts';
import {
  cancelRequest,
  discardUpload,
  OUTAGES,
  pauseOrResume,
  pollBulkCreate,
  readResult,
  requestUploadUrl,
  uploadFile,
} from './steps.ts';

const bulkCreateEvent = defineSignal<[BulkCreateSignal]>(BULK_ONBOARDING_MESSAGES.bulkCreateEvent);
const status = defineQuery<BulkOnboardingStatus>(BULK_ONBOARDING_MESSAGES.status);
const pause = defineUpdate<BulkOnboardingStatus>(BULK_ONBOARDING_MESSAGES.pause);
const resume = defineUpdate<BulkOnboardingStatus>(BULK_ONBOARDING_MESSAGES.resume);

/**
 * Imports a panel into an exchange: requests an upload URL, uploads the file, waits for up to seven days and reads the
 * result.
 *
 * Durable because processing takes seconds to days, while upload URLs expire, webhooks get lost and processes restart.
 * Keyed by an id derived from the caller's job id, so a job runs once. The file may be uploaded twice, and under two
 * requests if the exchange lost one; that is harmless, because each row creates or updates. The history contains counts
 * and references to files, never rows.
 */
export async function bulkOnboarding(
  input: BulkOnboardingInput,
  carried?: BulkState,
): Promise<BulkOnboardingSummary> {
  const bulk = new BulkOnboarding(input, Date.now(), carried);
  const calls = bulkCalls(input);
  const snapshot = () => bulkOnboardingStatus(bulk.state, input);
  const show = () => setCurrentDetails(bulkOnboardingDetails(snapshot()));
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
        await pauseOrResume(bulk, calls, how);
        show();
        return snapshot();
      },
      { validator: () => assertProcessing(bulk) },
    );

  try {
    while (bulk.state.phase !== 'ended') {
      show();
      // An outage may take days of requests.
      if (bulk.state.phase === 'requesting' && bulk.state.outages !== undefined) {
        const { continueAsNewSuggested } = workflowInfo();
        if (continueAsNewSuggested) await continueAsNew<typeof bulkOnboarding>(input, bulk.state);
      }
      await step(bulk, calls, input, show);
    }
  } catch (error) {
    // A bug in our code fails only the workflow task: a corrected worker continues from here, and needs the panel.
    if (!(error instanceof TemporalFailure)) throw error;
    // Under a cancellation, a failed call is not the reason for the end.
    if (!isCancellation(error) && !CancellationScope.current().consideredCancelled) {
      // The file stays, so that nothing is lost by a failure; what is left for 30 days is deleted with other old files.
      if (!patched(OUTAGES)) await discardUpload(calls);
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
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: bulkOnboardingOutcome(bulk.state) }]);
  show();
  return bulkOnboardingSummary(bulk.state, input);
}

async function step(
  bulk: BulkOnboarding,
  calls: BulkCalls,
  input: BulkOnboardingInput,
  show: () => void,
): Promise<void> {
  switch (bulk.state.phase) {
    case 'requesting':
      return requestUploadUrl(bulk, calls);
    case 'uploading':
      return uploadFile(bulk, calls);
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
        await pollBulkCreate(bulk, calls);
        break;
      case 'give-up':
        bulk.giveUp();
        break;
    }
  }
}

function assertProcessing({ state }: BulkOnboarding): void {
  if (state.phase === 'processing' && state.ending === undefined) return;
  throw ApplicationFailure.nonRetryable('The exchange is not processing the file now', 'conflict');
}

const WAITS = {
  status: 'Wait for the webhook, then poll the status',
  deadline: 'Wait for the webhook until the deadline',
} as const;
