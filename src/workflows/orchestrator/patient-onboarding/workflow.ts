import {
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
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
  type OnboardedSource,
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingInput,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
  type PersonReturnedSignal,
} from '../../../contract/patient-onboarding.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
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
    await listDocuments(onboarding, calls, patientId);
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

/** Markdown for the workflow's page in the Temporal UI: how it stands, each source with its reason, and what to type next. */
export function onboardingDetails(state: OnboardingState): string {
  const status = onboardingStatus(state);
  const ends = status.phase === 'ended' ? onboardingSummary(state).sources : undefined;
  return [
    `**${ends === undefined ? PHASES[status.phase] : endOf(state, ends)}**${status.problem === undefined ? '' : ` (${status.problem})`}`,
    '',
    ...status.sources.map((source) => sourceLine(source, ends)),
    '',
    ...personLine(status),
    `Patient: ${status.patientId ?? '–'}${status.created === false ? ' (already existed)' : ''}. Cohorts: ${status.cohorts.join(', ') || '–'}.`,
    `Webhooks: ${status.webhooksReceived}. Polls: ${status.polls}.`,
    status.nextPollAt === undefined ? '' : `Next poll, unless a webhook arrives: ${status.nextPollAt}`,
    status.nextStartAt === undefined ? '' : `Next start of rate-limited sources: ${status.nextStartAt}`,
    '',
    ...nextSteps(status, ends),
  ].join('\n');
}

function endOf(state: OnboardingState, ends: readonly OnboardedSource[]): string {
  const completed = ends.filter(({ outcome }) => outcome === 'completed').length;
  return `Ended as ${onboardingOutcome(state)}: ${completed} of ${ends.length} sources completed`;
}

type SourceStatus = PatientOnboardingStatus['sources'][number];

function sourceLine(
  { type, state, via, requestId }: SourceStatus,
  ends?: readonly OnboardedSource[],
): string {
  const error = ends?.find((source) => source.type === type)?.error;
  const facts = [
    state,
    ...(error === undefined ? [] : [error]),
    ...(via === undefined ? [] : [`reported by ${via}`]),
    ...(requestId === undefined ? [] : [`query ${requestId}`]),
  ];
  return `- **${type}**: ${facts.join(' · ')}`;
}

/** The commands to type, as list items. */
function nextSteps(status: PatientOnboardingStatus, ends?: readonly OnboardedSource[]): string[] {
  const command = (what: string, text: string) => `- ${what}: \`npm run starter -- ${text}\``;
  if (ends === undefined)
    return status.requestIds.map((requestId) => command('Timeline of the query', `status ${requestId}`));
  const open = status.sources.filter(({ state }) => state !== 'completed');
  return open.map(({ type, requestId }) =>
    requestId === undefined
      ? command(`Query ${type}`, `query ${status.patientId ?? '<patientId>'} --sources ${type}`)
      : command(`Query ${type} again`, `retry ${requestId} ${type}`),
  );
}

/** Omits the URL of the page, which is for the person only. */
function personLine({ phase, identity }: PatientOnboardingStatus): string[] {
  if (phase !== 'proving-identity' || identity === undefined) return [];
  const task = identity.state === 'to-verify' ? 'verify their identity' : 'authenticate with two factors';
  return [`The person must ${task} by ${identity.expiresAt ?? '–'}.`, ''];
}

const PHASES: Readonly<Record<PatientOnboardingStatus['phase'], string>> = {
  'creating-patient': 'Creating the patient',
  'assigning-cohorts': 'Adding the patient to cohorts',
  'proving-identity': 'Waiting for the person to prove their identity',
  querying: 'Waiting for the sources',
  cancelling: 'Cancelled; stopping the queries',
  ended: 'Ended',
};
