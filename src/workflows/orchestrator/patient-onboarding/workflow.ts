import {
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import {
  type Aal2ConfirmedSignal,
  type IdentityVerifiedSignal,
  type IntakeSignal,
  type NetworkQuerySignal,
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingInput,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
  type PersonReturnedSignal,
} from '../../../contract/patient-onboarding.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { onboardingDetails } from './details.ts';
import { type ExchangeCalls, exchangeCalls } from './exchange-calls.ts';
import { proveIdentity } from './identity.ts';
import { Onboarding } from './onboarding.ts';
import type { OnboardingState } from './onboarding-state.ts';
import { onboardingOutcome, onboardingStatus, onboardingSummary } from './report.ts';
import {
  addToCohorts,
  countAttempts,
  createPatient,
  listDocuments,
  pollQueries,
  restart,
  startFirstQuery,
  stopQueries,
} from './steps.ts';

const networkQueryEvent = defineSignal<[NetworkQuerySignal]>(PATIENT_ONBOARDING_MESSAGES.networkQueryEvent);
const intakeReceived = defineSignal<[IntakeSignal]>(PATIENT_ONBOARDING_MESSAGES.intakeReceived);
const identityVerified = defineSignal<[IdentityVerifiedSignal]>(PATIENT_ONBOARDING_MESSAGES.identityVerified);
const aal2Confirmed = defineSignal<[Aal2ConfirmedSignal]>(PATIENT_ONBOARDING_MESSAGES.aal2Confirmed);
const personReturned = defineSignal<[PersonReturnedSignal?]>(PATIENT_ONBOARDING_MESSAGES.personReturned);
const status = defineQuery<PatientOnboardingStatus>(PATIENT_ONBOARDING_MESSAGES.status);

/**
 * Creates one patient in the exchange, starts a query and waits for its sources, for up to 35 days.
 *
 * Durable because sources take minutes to weeks, while webhooks get lost and processes restart. Keyed by an id derived
 * from the caller's job id, so a job runs once. Each call carries an idempotency key, so a repeated call takes effect once;
 * an exchange without such keys never receives the same start of a query twice. Webhooks may arrive twice, in any order,
 * and before the response to the call that caused them; polling makes up for lost ones.
 */
export async function patientOnboarding(
  input: PatientOnboardingInput,
  carried?: OnboardingState,
): Promise<PatientOnboardingSummary> {
  const onboarding = new Onboarding(input, Date.now(), carried);
  const calls = exchangeCalls(input);
  const show = () => setCurrentDetails(onboardingDetails(onboarding.state));
  setHandler(status, () => onboardingStatus(onboarding.state));
  setHandler(networkQueryEvent, (event) => {
    onboarding.webhook(event);
    show();
  });
  setHandler(intakeReceived, (intake) => onboarding.intake(intake.messageId));
  setHandler(identityVerified, (event) => {
    if (input.ias === undefined || onboarding.isAboutAnother(event)) return;
    onboarding.identity().proofedIdentityId ??= event.proofedIdentityId;
  });
  setHandler(aal2Confirmed, ({ aal2SessionId }) => {
    if (input.ias !== undefined) onboarding.identity().aal2SessionId ??= aal2SessionId;
  });
  setHandler(personReturned, (brought) => {
    if (input.ias !== undefined) onboarding.personReturned(brought?.aal2SessionId);
  });
  show();

  try {
    const patientId = onboarding.state.patient?.id ?? (await createPatient(onboarding, calls));
    if (onboarding.state.phase === 'assigning-cohorts') await addToCohorts(onboarding, calls, input);
    if (onboarding.state.starts === 0 && input.ias !== undefined)
      await proveIdentity(onboarding, calls, patientId, input, show);
    if (onboarding.state.starts === 0) await startFirstQuery(onboarding, calls, patientId);
    await waitForSources(input, onboarding, calls, patientId, show);
    await countAttempts(onboarding, calls);
    // Onboardings that started before this patch do not have this step.
    if (patched('documents-in-summary')) await listDocuments(onboarding, calls, patientId);
  } catch (error) {
    // Under a cancellation, a failed call is not the reason for the end.
    if (!isCancellation(error) && !CancellationScope.current().consideredCancelled) throw error;
    onboarding.state.phase = 'cancelling';
    show();
    await CancellationScope.nonCancellable(() => stopQueries(onboarding, calls));
    throw isCancellation(error) ? error : new CancelledFailure('Cancelled');
  }
  onboarding.state.phase = 'ended';
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: onboardingOutcome(onboarding.state) }]);
  show();
  return onboardingSummary(onboarding.state);
}

async function waitForSources(
  input: PatientOnboardingInput,
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
  show: () => void,
): Promise<void> {
  for (;;) {
    show();
    const step = onboarding.next(Date.now());
    switch (step.kind) {
      case 'finish':
        return;
      case 'wait':
        if (workflowInfo().continueAsNewSuggested)
          await continueAsNew<typeof patientOnboarding>(input, onboarding.state);
        await condition(() => onboarding.settled, step.ms, { summary: WAITS[step.for] });
        break;
      case 'poll':
        await pollQueries(onboarding, calls);
        break;
      case 'start':
        await restart(onboarding, calls, patientId, step.types);
        break;
      case 'give-up':
        onboarding.giveUp();
        break;
    }
  }
}

const WAITS = {
  status: 'Wait for webhooks, then poll the status',
  restart: 'Wait until the rate limit allows another query',
  deadline: 'Wait for webhooks until the deadline',
} as const;
