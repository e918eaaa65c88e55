import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  log,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { PatientOnboardingActivities } from '../../../activities/orchestrator/patient-onboarding.ts';
import {
  type Aal2ConfirmedSignal,
  type IdentityVerifiedSignal,
  type IntakeSignal,
  PATIENT_ONBOARDING_MESSAGES as MESSAGES,
  type NetworkQuerySignal,
  type OnboardedSource,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
  type PersonReturnedSignal,
} from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { callFailure, essential } from '../../shared/failures.ts';
import {
  continueIfDue,
  type ExchangeCalls,
  exchangeCalls,
  forgetPerson,
  proveIdentity,
} from './identity.ts';
import {
  Onboarding,
  type OnboardingRunInput,
  type OnboardingState,
} from './onboarding.ts';
import {
  onboardingOutcome,
  onboardingStatus,
  onboardingSummary,
} from './report.ts';

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
  carried?: OnboardingState,
): Promise<PatientOnboardingSummary> {
  const onboarding = new Onboarding(input, Date.now(), carried);
  const calls = exchangeCalls(input);
  const show = () => setCurrentDetails(onboardingDetails(onboarding.state));
  setHandler(patientOnboardingMessages.status, () =>
    onboardingStatus(onboarding.state),
  );
  setHandler(patientOnboardingMessages.networkQueryEvent, (event) => {
    onboarding.webhook(event);
    show();
  });
  setHandler(patientOnboardingMessages.intakeReceived, (intake) =>
    onboarding.intake(intake.messageId),
  );
  setHandler(patientOnboardingMessages.identityVerified, (event) => {
    if (input.ias === undefined || onboarding.isAboutAnother(event)) return;
    onboarding.identity().proofedIdentityId ??= event.proofedIdentityId;
  });
  setHandler(patientOnboardingMessages.aal2Confirmed, ({ aal2SessionId }) => {
    if (input.ias !== undefined)
      onboarding.identity().aal2SessionId ??= aal2SessionId;
  });
  setHandler(patientOnboardingMessages.personReturned, (brought) => {
    if (input.ias !== undefined)
      onboarding.personReturned(brought?.aal2SessionId);
  });
  show();

  const { forget, refused } = onboarding.state;
  const forgetting = forgetEarlierRun(onboarding.state);
  try {
    if (forget !== undefined && !patched('forget-beside-the-rest'))
      await forgetting;
    if (refused !== undefined) throw notCreated(refused);
    const patientId =
      onboarding.state.patient?.id ??
      (await createPatient(onboarding, calls, input));
    if (onboarding.state.phase === 'assigning-cohorts')
      await addToCohorts(onboarding, calls, input);
    if (onboarding.state.starts === 0 && input.ias !== undefined)
      await proveIdentity(onboarding, calls, patientId, input, show);
    if (onboarding.state.starts === 0)
      await startFirstQuery(onboarding, calls, patientId);
    await waitForSources(input, onboarding, calls, patientId, show);
    await countAttempts(onboarding, calls);
    await listDocuments(onboarding, calls, patientId);
  } catch (error) {
    const isCancelled =
      isCancellation(error) || CancellationScope.current().consideredCancelled;
    // The next run goes on with what this one has not deleted yet.
    if (error instanceof ContinueAsNew && !isCancelled) throw error;
    if (isCancelled) {
      onboarding.state.phase = 'cancelling';
      show();
      await CancellationScope.nonCancellable(() =>
        stopQueries(onboarding, calls),
      );
    }
    await forgetting;
    // Under a cancellation, a failed call is not the reason for the end.
    throw isCancelled && !isCancellation(error)
      ? new CancelledFailure('Cancelled')
      : error;
  }
  onboarding.state.phase = 'ended';
  upsertSearchAttributes([
    {
      key: searchAttribute.queryStatus,
      value: onboardingOutcome(onboarding.state),
    },
  ]);
  show();
  await forgetting;
  return onboardingSummary(onboarding.state);
}

async function waitForSources(
  input: OnboardingRunInput,
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
        await continueIfDue(input, onboarding.state);
        await condition(() => onboarding.settled, step.ms, {
          summary: WAITS[step.for],
        });
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

/**
 * Markdown for the workflow's page in the Temporal UI: how it stands, each
 * source with its reason, and what to type next.
 */
export function onboardingDetails(state: OnboardingState): string {
  const status = onboardingStatus(state);
  const ends =
    status.phase === 'ended' ? onboardingSummary(state).sources : undefined;
  return [
    `**${ends === undefined ? PHASES[status.phase] : endOf(state, ends)}**${status.problem === undefined ? '' : ` (${status.problem})`}`,
    '',
    ...status.sources.map((source) => sourceLine(source, ends)),
    '',
    ...personLine(status),
    `Patient: ${status.patientId ?? '–'}${status.created === false ? ' (already existed)' : ''}. Cohorts: ${status.cohorts.join(', ') || '–'}.`,
    `Webhooks: ${status.webhooksReceived}. Polls: ${status.polls}.`,
    status.nextPollAt === undefined
      ? ''
      : `Next poll, unless a webhook arrives: ${status.nextPollAt}`,
    status.nextStartAt === undefined
      ? ''
      : `Next start of rate-limited sources: ${status.nextStartAt}`,
    '',
    ...nextSteps(status, ends),
  ].join('\n');
}

function endOf(
  state: OnboardingState,
  ends: readonly OnboardedSource[],
): string {
  const completed = ends.filter(
    ({ outcome }) => outcome === 'completed',
  ).length;
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
function nextSteps(
  status: PatientOnboardingStatus,
  ends?: readonly OnboardedSource[],
): string[] {
  const command = (what: string, text: string) =>
    `- ${what}: \`npm run starter -- ${text}\``;
  if (ends === undefined)
    return status.requestIds.map((requestId) =>
      command('Timeline of the query', `status ${requestId}`),
    );
  const open = status.sources.filter(({ state }) => state !== 'completed');
  return open.map(({ type, requestId }) =>
    requestId === undefined
      ? command(
          `Query ${type}`,
          `query ${status.patientId ?? '<patientId>'} --sources ${type}`,
        )
      : command(`Query ${type} again`, `retry ${requestId} ${type}`),
  );
}

/** Omits the URL of the page, which is for the person only. */
function personLine({ phase, identity }: PatientOnboardingStatus): string[] {
  if (phase !== 'proving-identity' || identity === undefined) return [];
  const task =
    identity.state === 'to-verify'
      ? 'verify their identity'
      : 'authenticate with two factors';
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

const { forgetRun } = proxyActivities<PatientOnboardingActivities>({
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1h',
  summary: 'Delete the first run, which held the person’s data',
});

/**
 * Deletes what the run before held of the person, also under a cancellation;
 * never rejects. What cannot be deleted stays as long as Temporal keeps ended
 * runs.
 */
async function forgetEarlierRun(state: OnboardingState): Promise<void> {
  const { forget: runId } = state;
  if (runId === undefined) return;
  try {
    await CancellationScope.nonCancellable(() => forgetRun({ runId }));
  } catch (error) {
    log.warn('The run with the person’s data could not be deleted', {
      kind: callFailure(error)?.kind,
    });
  }
  state.forget = undefined;
}

const NOT_CREATED = 'patient-not-created';

const notCreated = ({
  message,
  details,
}: NonNullable<OnboardingState['refused']>): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, NOT_CREATED, ...details);

/**
 * Creates the patient; whatever the outcome, the next run takes it up. Returns
 * the id in a run of 0.1.0.
 */
async function createPatient(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  input: OnboardingRunInput,
): Promise<string> {
  const { state } = onboarding;
  const { patient } = input;
  if (patient === undefined)
    throw ApplicationFailure.nonRetryable(
      'The input has no patient',
      NOT_CREATED,
    );
  try {
    const { patientId, created } = await essential(
      () => calls.createPatient(patient),
      NOT_CREATED,
      'The patient could not be created',
    );
    onboarding.patientCreated(patientId, created);
    if (!patched('forget-the-person')) return patientId;
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || !patched('forget-the-person'))
      throw error;
    state.refused = { message: error.message, details: error.details ?? [] };
  }
  return forgetPerson(input, state);
}

async function addToCohorts(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  { cohortIds = [] }: OnboardingRunInput,
): Promise<void> {
  const patientId = onboarding.state.patient?.id;
  if (cohortIds.length === 0 || patientId === undefined)
    return onboarding.cohortsAssigned([]);
  const answer = await essential(
    () => calls.addToCohorts(patientId, cohortIds),
    'cohorts-not-assigned',
    'The patient was created, but could not be added to the cohorts',
  );
  onboarding.cohortsAssigned(
    answer.cohortIds.filter((id) => cohortIds.includes(id)),
  );
}

async function startFirstQuery(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
): Promise<void> {
  const types = onboarding.state.sources.map(({ type }) => type);
  await essential(
    () => startQuery(onboarding, calls, patientId, types),
    'query-not-started',
    'The patient was created, but the network query could not be started',
  );
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: 'in-progress' },
    ...onboarding.state.requestIds
      .slice(0, 1)
      .map((value) => ({ key: searchAttribute.requestId, value })),
  ]);
}

/**
 * Starts a query. Throws only when no query was started; after an unknown
 * outcome, waits for webhooks instead.
 */
async function startQuery(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
  types: readonly SourceType[],
): Promise<void> {
  try {
    const { starts, identity } = onboarding.state;
    const answer = await calls.startQuery(
      patientId,
      types,
      starts + 1,
      identity,
    );
    onboarding.queryStarted(types, answer, Date.now());
  } catch (error) {
    if (callFailure(error)?.kind !== 'ambiguous') throw error;
    onboarding.startUnknown(types, Date.now());
  }
}

/**
 * Reads the status of each open query. A failure is only noted: the next poll
 * makes up for it.
 */
async function pollQueries(
  onboarding: Onboarding,
  calls: ExchangeCalls,
): Promise<void> {
  onboarding.state.problem = undefined;
  for (const requestId of onboarding.openRequestIds) {
    try {
      onboarding.polled(
        await calls.getQuery(requestId, 'No webhook yet: poll the query'),
      );
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      if (failure.kind === 'not-found') onboarding.pollFoundNothing(requestId);
      onboarding.state.problem = failure.message;
    }
  }
  onboarding.pollsDone(Date.now());
}

/**
 * Starts a further query for the rate-limited sources. Its failure does not
 * affect the other sources.
 */
async function restart(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
  types: readonly SourceType[],
): Promise<void> {
  try {
    await startQuery(onboarding, calls, patientId, types);
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    if (failure.kind === 'unavailable' || failure.kind === 'rate-limited')
      onboarding.restartFailed(types, Date.now());
    else onboarding.restartRefused(types, failure.message);
  }
}

/**
 * Reads how many attempts each source took, which webhooks do not contain. Logs
 * a failure and continues without it.
 */
async function countAttempts(
  onboarding: Onboarding,
  calls: ExchangeCalls,
): Promise<void> {
  for (const requestId of onboarding.unreadRequestIds) {
    try {
      onboarding.attemptsRead(
        await calls.getQuery(requestId, 'Read the number of attempts'),
      );
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      log.warn('The number of attempts could not be read', {
        requestId,
        kind: failure.kind,
      });
    }
  }
}

/**
 * Lists the documents for the summary. Not every exchange can; logs a failure
 * and continues without them.
 */
async function listDocuments(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
): Promise<void> {
  try {
    onboarding.state.documents = await calls.listDocuments(patientId);
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    log.warn('The documents could not be listed', { kind: failure.kind });
  }
}

/**
 * Cancels the queries that are still running at the exchange. They may have
 * ended by now, so 404 and 409 are fine.
 */
async function stopQueries(
  onboarding: Onboarding,
  calls: ExchangeCalls,
): Promise<void> {
  for (const requestId of onboarding.openRequestIds) {
    try {
      await calls.cancelQuery(requestId);
    } catch (error) {
      log.warn('A query could not be cancelled', {
        requestId,
        kind: callFailure(error)?.kind,
      });
    }
  }
}
