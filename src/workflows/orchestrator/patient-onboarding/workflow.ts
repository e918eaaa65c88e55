import {
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  type Aal2ConfirmedSignal,
  type IdentityVerifiedSignal,
  type IntakeSignal,
  PATIENT_ONBOARDING_MESSAGES as MESSAGES,
  type NetworkQuerySignal,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
  type PersonReturnedSignal,
} from '../../../contract/patient-onboarding.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { onboardingDetails } from './details.ts';
import { exchangeCalls } from './exchange-calls.ts';
import { IdentityProof } from './identity.ts';
import { forgetEarlierRun } from './next-run.ts';
import {
  type CarriedOnboarding,
  Onboarding,
  type OnboardingRunInput,
  type OnboardingState,
} from './onboarding.ts';
import {
  onboardingOutcome,
  onboardingStatus,
  onboardingSummary,
} from './report.ts';
import { OnboardingSteps, patientNotCreated } from './steps.ts';

/**
 * Signals, and the query for the status. What each means is in the contract.
 */
export const patientOnboardingMessages = {
  networkQueryEvent: defineSignal<[NetworkQuerySignal]>(
    MESSAGES.networkQueryEvent,
  ),
  intakeReceived: defineSignal<[IntakeSignal]>(MESSAGES.intakeReceived),
  identityVerified: defineSignal<[IdentityVerifiedSignal]>(
    MESSAGES.identityVerified,
  ),
  aal2Confirmed: defineSignal<[Aal2ConfirmedSignal]>(MESSAGES.aal2Confirmed),
  personReturned: defineSignal<[PersonReturnedSignal?]>(
    MESSAGES.personReturned,
  ),
  status: defineQuery<PatientOnboardingStatus>(MESSAGES.status),
};

/**
 * Creates one patient in the exchange, starts a query and waits for its
 * sources, for up to 35 days.
 *
 * Durable because sources take minutes to weeks, while webhooks get lost and
 * processes restart. Keyed by an id derived from the caller's job id, so a job
 * runs once. Each call carries an idempotency key, so a repeated call takes
 * effect once; an exchange without such keys never receives the same start of a
 * query twice. Webhooks may arrive twice, in any order, and before the response
 * to the call that caused them; polling makes up for lost ones. The person's
 * data is in the first run only, whose history is deleted when the patient is
 * created or refused, beside what follows: nothing of the patient's care waits
 * for it, only the end.
 */
export async function patientOnboarding(
  input: OnboardingRunInput,
  carried?: CarriedOnboarding | OnboardingState,
): Promise<PatientOnboardingSummary> {
  const isOfEarlier = carried === undefined || !('state' in carried);
  const onboarding = new Onboarding(
    input,
    Date.now(),
    isOfEarlier ? carried : carried.state,
  );
  const { state } = onboarding;
  const show = () => setCurrentDetails(onboardingDetails(state));
  const calls = exchangeCalls(input);
  const steps = new OnboardingSteps(
    onboarding,
    calls,
    input,
    show,
    isOfEarlier,
  );
  setMessageHandlers(onboarding, input, show);
  show();

  const forgetting = forgetEarlierRun(state);
  try {
    if (
      isOfEarlier &&
      state.forget !== undefined &&
      !patched('forget-beside-the-rest')
    )
      await forgetting;
    if (state.refused !== undefined) throw patientNotCreated(state.refused);
    const patientId = state.patient?.id ?? (await steps.createPatient());
    if (state.phase === 'assigning-cohorts') await steps.addToCohorts();
    if (state.starts === 0 && input.ias !== undefined)
      await new IdentityProof(onboarding, calls, input, show).prove(patientId);
    if (state.starts === 0) await steps.startFirstQuery(patientId);
    await steps.waitForSources(patientId);
    await steps.readOutcome(patientId);
  } catch (error) {
    const isCancelled =
      isCancellation(error) || CancellationScope.current().consideredCancelled;
    // The next run goes on with what this one has not deleted yet.
    if (error instanceof ContinueAsNew && !isCancelled) throw error;
    if (isCancelled) {
      state.phase = 'cancelling';
      show();
      await CancellationScope.nonCancellable(() => steps.stopQueries());
    }
    await forgetting;
    // Under a cancellation, a failed call is not the reason for the end.
    throw isCancelled && !isCancellation(error)
      ? new CancelledFailure('Cancelled')
      : error;
  }
  state.phase = 'ended';
  showStatus(onboardingOutcome(state), isOfEarlier);
  show();
  await forgetting;
  return onboardingSummary(state);
}

/**
 * Each upsert is an action that Temporal Cloud bills: an onboarding that
 * completed is found by Temporal's own status.
 */
function showStatus(
  value: PatientOnboardingSummary['status'],
  isOfEarlier: boolean,
): void {
  if (isOfEarlier || value !== 'completed')
    upsertSearchAttributes([{ key: searchAttribute.queryStatus, value }]);
}

function setMessageHandlers(
  onboarding: Onboarding,
  input: OnboardingRunInput,
  show: () => void,
): void {
  const messages = patientOnboardingMessages;
  setHandler(messages.status, () => onboardingStatus(onboarding.state));
  setHandler(messages.networkQueryEvent, (event) => {
    onboarding.webhook(event);
    show();
  });
  setHandler(messages.intakeReceived, (intake) =>
    onboarding.intake(intake.messageId),
  );
  setHandler(messages.identityVerified, (event) => {
    if (input.ias === undefined || onboarding.isAboutAnother(event)) return;
    onboarding.identity().proofedIdentityId ??= event.proofedIdentityId;
  });
  setHandler(messages.aal2Confirmed, ({ aal2SessionId }) => {
    if (input.ias !== undefined)
      onboarding.identity().aal2SessionId ??= aal2SessionId;
  });
  setHandler(messages.personReturned, (brought) => {
    if (input.ias !== undefined)
      onboarding.personReturned(brought?.aal2SessionId);
  });
}
