import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  setCurrentDetails,
  setHandler,
  TemporalFailure,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  type BulkCreateSignal,
  type BulkOnboardingInput,
  type BulkOnboardingStatus,
  type BulkOnboardingSummary,
  BULK_ONBOARDING_MESSAGES as MESSAGES,
} from '../../../contract/bulk-onboarding.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { BulkOnboarding, type BulkState } from './bulk-onboarding.ts';
import { bulkOnboardingDetails } from './details.ts';
import { bulkCalls } from './exchange-calls.ts';
import {
  bulkOnboardingOutcome,
  bulkOnboardingStatus,
  bulkOnboardingSummary,
} from './report.ts';
import { BulkOnboardingSteps, mustBeProcessing } from './steps.ts';

/**
 * A signal, the query for the status, and updates that return it. What each
 * means is in the contract.
 */
export const bulkOnboardingMessages = {
  bulkCreateEvent: defineSignal<[BulkCreateSignal]>(MESSAGES.bulkCreateEvent),
  status: defineQuery<BulkOnboardingStatus>(MESSAGES.status),
  pause: defineUpdate<BulkOnboardingStatus>(MESSAGES.pause),
  resume: defineUpdate<BulkOnboardingStatus>(MESSAGES.resume),
};

/**
 * Imports a panel into an exchange: requests an upload URL, uploads the file,
 * waits for up to seven days and reads the result.
 *
 * Durable because processing takes seconds to days, while upload URLs expire,
 * webhooks get lost and processes restart. Keyed by an id derived from the
 * caller's job id, so a job runs once. The file may be uploaded twice, and
 * under two requests if the exchange lost one; that is harmless, because each
 * row creates or updates. The history contains counts and references to files,
 * never rows.
 */
export async function bulkOnboarding(
  input: BulkOnboardingInput,
  carried?: BulkState,
): Promise<BulkOnboardingSummary> {
  const bulk = new BulkOnboarding(input, Date.now(), carried);
  const { state } = bulk;
  const snapshot = () => bulkOnboardingStatus(state, input);
  const show = () => setCurrentDetails(bulkOnboardingDetails(snapshot()));
  const steps = new BulkOnboardingSteps(bulk, bulkCalls(input), input, show);

  setHandler(bulkOnboardingMessages.status, snapshot);
  setHandler(bulkOnboardingMessages.bulkCreateEvent, (event) => {
    bulk.webhook(event);
    show();
  });
  for (const how of ['pause', 'resume'] as const)
    setHandler(
      bulkOnboardingMessages[how],
      async () => {
        await steps.pauseOrResume(how);
        show();
        return snapshot();
      },
      { validator: () => mustBeProcessing(state) },
    );

  try {
    while (state.phase !== 'ended') {
      show();
      await steps.next();
    }
  } catch (error) {
    // A bug in our code fails only the workflow task: a corrected worker
    // continues from here, and needs the panel.
    if (!(error instanceof TemporalFailure)) throw error;
    // Under a cancellation, a failed call is not the reason for the end.
    const isCancelled =
      isCancellation(error) || CancellationScope.current().consideredCancelled;
    // The file stays, so that nothing is lost by a failure; what is left for 30
    // days is deleted with other old files.
    if (!isCancelled) throw error;

    state.phase = 'cancelling';
    show();
    await CancellationScope.nonCancellable(async () => {
      await steps.cancelRequest();
      await steps.discardUpload();
    });
    throw isCancellation(error) ? error : new CancelledFailure('Cancelled');
  }
  await CancellationScope.nonCancellable(() => steps.discardUpload());
  await condition(allHandlersFinished);
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: bulkOnboardingOutcome(state) },
  ]);
  show();
  return bulkOnboardingSummary(state, input);
}
