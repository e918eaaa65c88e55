import {
  ApplicationFailure,
  condition,
  continueAsNew,
  patched,
  workflowInfo,
} from '@temporalio/workflow';
import {
  DEFAULT_ONBOARDING_TIMING,
  type OnboardedPatient,
} from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { ORCHESTRATION_METADATA_KEY } from '../../../contract/temporal.ts';
import { callFailure, essential } from '../../shared/failures.ts';
import { proxyEndpoints } from '../endpoint-proxies.ts';
import type {
  IdentityPage,
  IdentityState,
  Onboarding,
  OnboardingRunInput,
  OnboardingState,
  PatientOnboardingWorkflow,
} from './onboarding.ts';
import { onlySources } from './requested-sources.ts';

/** A challenge is valid for an hour. An expired one is replaced, for a day. */
const CHALLENGES_MAX = 24;
const HOUR_MS = 3_600_000;
const TOO_MANY_CHALLENGES =
  'The person did not authenticate with two factors in time';

/**
 * Individual access: the person verifies their identity, which may take days,
 * and then authenticates with two factors. Webhooks and the person's return to
 * our page are hints; if they are lost, polling the exchange makes up for them.
 * Steps done before a continue-as-new are not repeated. Throws
 * `identity-not-verified` and `identity-not-confirmed`.
 */
export async function proveIdentity(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
  input: OnboardingRunInput,
  show: () => void,
): Promise<void> {
  const redirectUrl = input.ias?.redirectUrl ?? '';
  const identity = onboarding.identity();
  onboarding.state.phase = 'proving-identity';
  const wait = { onboarding, input, show };
  if (identity.session === undefined) {
    const { sessionId, sessionUrl, expiresAt } = await essential(
      () => calls.createIdentitySession(patientId, redirectUrl),
      'identity-not-verified',
      'The patient was created, but the verification of their identity could not be started',
    );
    identity.session = {
      id: sessionId,
      url: sessionUrl,
      expiresAtMs: msOf(expiresAt),
    };
  }
  show();
  const end = await awaitPerson(wait, {
    page: identity.session,
    isDone: () => identity.proofedIdentityId !== undefined,
    summary: 'Wait until the person has verified their identity',
    poll: async (sessionId) => {
      const session = await calls.getIdentitySession(sessionId);
      identity.proofedIdentityId ??= session.proofedIdentityId;
      return session.status;
    },
  });
  const { proofedIdentityId } = identity;
  if (proofedIdentityId === undefined)
    throw ApplicationFailure.nonRetryable(
      NOT_VERIFIED[end],
      'identity-not-verified',
    );

  while (identity.aal2SessionId === undefined) {
    // A challenge that was open before a continue-as-new is still valid.
    const page =
      identity.challenge ??
      (await challenge(identity, calls, { proofedIdentityId, redirectUrl }));
    identity.challenge = page;
    show();
    const end = await awaitPerson(wait, {
      page,
      isDone: () => identity.aal2SessionId !== undefined,
      summary: 'Wait until the person has authenticated with two factors',
      poll: (challengeId) => pollChallenge(identity, calls, challengeId),
    });
    if (end !== 'done') identity.challenge = undefined;
  }
  onboarding.state.phase = 'querying';
  onboarding.state.problem = undefined;
  show();
}

async function pollChallenge(
  identity: IdentityState,
  calls: ExchangeCalls,
  challengeId: string,
): Promise<IdentityPageState> {
  try {
    const { status, aal2SessionId } = await calls.getChallenge(challengeId);
    identity.aal2SessionId ??= aal2SessionId;
    return status;
  } catch (error) {
    // This exchange does not serve the challenge's status. Use the session that
    // the browser returned with: the exchange verifies it when the query
    // starts.
    if (callFailure(error)?.kind === 'not-found')
      identity.aal2SessionId ??= identity.broughtSessionId;
    if (identity.aal2SessionId !== undefined) return 'verified';
    throw error;
  }
}

const NOT_VERIFIED = {
  done: 'The person was not verified',
  late: 'The person did not verify their identity in time',
  failed: 'The person could not be verified as this patient',
} as const;

async function challenge(
  identity: IdentityState,
  calls: ExchangeCalls,
  request: { proofedIdentityId: string; redirectUrl: string },
): Promise<IdentityPage> {
  if (identity.challenges >= CHALLENGES_MAX)
    throw ApplicationFailure.nonRetryable(
      TOO_MANY_CHALLENGES,
      'identity-not-confirmed',
    );
  identity.challenges += 1;
  const { challengeId, challengeUrl, expiresAt } = await essential(
    () => calls.createChallenge(request, identity.challenges),
    'identity-not-confirmed',
    'The person was verified, but the two-factor challenge could not be created',
  );
  return { id: challengeId, url: challengeUrl, expiresAtMs: msOf(expiresAt) };
}

/** Another exchange may send an invalid time; assume one hour then. */
const msOf = (instant: string): number =>
  Date.parse(instant) || Date.now() + HOUR_MS;

interface Waiting {
  onboarding: Onboarding;
  input: OnboardingRunInput;
  show: () => void;
}

interface Awaited {
  page: IdentityPage;
  isDone(): boolean;
  summary: string;
  /** Asks the exchange for the page's state, and stores what it answers. */
  poll(id: string): Promise<IdentityPageState>;
}

/**
 * The state of a verification session or of a challenge of the identity
 * partner.
 */
type IdentityPageState = 'pending' | 'verified' | 'failed' | 'expired';

/**
 * After this many 404 responses in a row, we assume that the exchange does not
 * serve the operation.
 */
const UNKNOWN_MAX = 3;

/**
 * Waits until the person has done what a page asks of them. Learns of it from
 * signals and by polling, less and less often, with a last poll when the page
 * has expired. A failed poll is only noted: the next one makes up for it.
 *
 * @returns `late` when the page expired first, `failed` when the exchange
 *   reports a failure
 */
async function awaitPerson(
  { onboarding, input, show }: Waiting,
  { page: { id, expiresAtMs }, isDone, summary, poll }: Awaited,
): Promise<'done' | 'late' | 'failed'> {
  const leftMs = () => expiresAtMs - Date.now();
  const { state } = onboarding;
  const identity = onboarding.identity();
  const { pollFirstMs, pollMaxMs } = {
    ...DEFAULT_ONBOARDING_TIMING,
    ...input.timing,
  };
  let pauseMs = pollFirstMs;
  for (let unknown = 0; ; ) {
    const untilMs =
      unknown < UNKNOWN_MAX ? Math.min(pauseMs, leftMs()) : leftMs();
    await condition(
      () => isDone() || identity.hasReturned === true,
      Math.max(untilMs, 1),
      { summary },
    );
    if (isDone()) return 'done';
    identity.hasReturned = false;
    const isLast = leftMs() <= 0;
    await continueIfDue(input, state);
    try {
      state.problem = undefined;
      const status = await poll(id);
      unknown = 0;
      if (isDone()) return 'done';
      if (status === 'failed') return 'failed';
      if (status === 'expired') return 'late';
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      if (failure.kind === 'not-found') unknown += 1;
      state.problem = failure.message;
    }
    show();
    if (isLast) return 'late';
    pauseMs = Math.min(pauseMs * 2, pollMaxMs);
  }
}

/**
 * Continues as new when Temporal suggests it, and in a run of 0.1.0 whose input
 * still holds the person.
 */
export async function continueIfDue(
  input: OnboardingRunInput,
  state: OnboardingState,
): Promise<void> {
  if (
    input.patient !== undefined &&
    patched('forget-the-person-of-an-open-run')
  )
    await forgetPerson(input, state);
  if (workflowInfo().continueAsNewSuggested)
    await continueAsNew<PatientOnboardingWorkflow>(input, state);
}

/**
 * Goes on in a run whose input lacks the person, and which deletes the history
 * of this one (decision 200).
 */
export const forgetPerson = (
  { patient: _, ...input }: OnboardingRunInput,
  state: OnboardingState,
): Promise<never> =>
  continueAsNew<PatientOnboardingWorkflow>(input, {
    ...state,
    forget: workflowInfo().runId,
  });

const { reads, writes } = proxyEndpoints();

/**
 * The exchange operations that one onboarding uses. A failed read is made up
 * for by the next poll.
 */
export function exchangeCalls(input: OnboardingRunInput) {
  const { exchange, facilityId, sources } = input;
  return {
    createPatient: (patient: OnboardedPatient) =>
      writes('create-patient', {
        summary: 'Create the patient, or find it by its demographics',
      }).createPatient({ exchange, query: { facilityId }, body: patient }),
    addToCohorts: (patientId: string, cohortIds: string[]) =>
      writes('add-to-cohorts', {
        summary: `Add the patient to ${cohortIds.length} cohorts`,
      }).addPatientToCohorts({
        exchange,
        params: { id: patientId },
        body: { cohortIds },
      }),
    createIdentitySession: (patientId: string, redirectUrl: string) =>
      writes('create-identity-session', {
        summary: 'Create a session to verify the person’s identity',
      }).createIdentitySession({
        exchange,
        body: {
          patientId,
          redirectUrl,
          metadata: {
            ...input.metadata,
            [ORCHESTRATION_METADATA_KEY]: input.orchestrationId,
          },
        },
      }),
    createChallenge: (
      body: { proofedIdentityId: string; redirectUrl: string },
      challenge: number,
    ) =>
      writes(`create-challenge-${challenge}`, {
        summary: 'Create a two-factor challenge for the person',
      }).createAal2Challenge({ exchange, body }),
    getIdentitySession: (id: string) =>
      reads.getIdentitySession.executeWithOptions(
        { summary: 'No webhook yet: poll the verification' },
        [{ exchange, params: { id } }],
      ),
    getChallenge: (id: string) =>
      reads.getAal2Challenge.executeWithOptions(
        { summary: 'Person has not returned yet: poll the challenge' },
        [{ exchange, params: { id } }],
      ),
    /** `start` counts the E2 calls of this onboarding from 1. */
    startQuery: (
      patientId: string,
      types: readonly SourceType[],
      start: number,
      identity?: IdentityState,
    ) =>
      writes(`start-query-${start}`, {
        summary: `Start the network query: ${types.join(', ')}`,
      }).startNetworkQuery({
        exchange,
        ...(identity === undefined
          ? { query: { patientId } }
          : {
              query: { patientId, purposeOfUse: 'ias' },
              aal2Session: identity.aal2SessionId,
            }),
        body: {
          sources: onlySources(sources, types),
          ...(identity !== undefined && {
            proofedIdentityId: identity.proofedIdentityId,
          }),
          metadata: {
            ...input.metadata,
            [ORCHESTRATION_METADATA_KEY]: input.orchestrationId,
          },
        },
      }),
    getQuery: (requestId: string, why: string) =>
      reads.getNetworkQuery.executeWithOptions({ summary: why }, [
        { exchange, params: { requestId } },
      ]),
    listDocuments: (patientId: string) =>
      reads.listDocuments.executeWithOptions(
        { summary: 'List the patient’s documents' },
        [{ exchange, query: { patientId, output: 'dto' } }],
      ),
    cancelQuery: (requestId: string) =>
      writes(`cancel-query-${requestId}`, {
        summary: 'Cancel the running query',
        scheduleToCloseTimeout: '2m',
      }).cancelNetworkQuery({ exchange, params: { requestId } }),
  };
}

export type ExchangeCalls = ReturnType<typeof exchangeCalls>;
