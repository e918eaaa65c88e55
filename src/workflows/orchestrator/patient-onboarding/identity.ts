import { ApplicationFailure, patched } from '@temporalio/workflow';
import type { PatientOnboardingInput } from '../../../contract/patient-onboarding.ts';
import { awaitPerson, type VerificationState } from './await-person.ts';
import type { ExchangeCalls } from './exchange-calls.ts';
import { callFailure, essential } from './failures.ts';
import type { Onboarding } from './onboarding.ts';
import type { IdentityPage, IdentityState } from './onboarding-state.ts';

/** A challenge works for an hour; for a day a new one stands ready when one has run out. */
const CHALLENGES_MAX = 24;
const HOUR_MS = 3_600_000;

/**
 * Individual access: the person verifies who they are (days may go by), then shows two factors. The webhook and the
 * person's return are hints; where they get lost, the exchange is asked. What was done before a continue-as-new is not
 * done again. Throws `identity-not-verified` and `identity-not-confirmed`.
 */
export async function proveIdentity(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
  input: PatientOnboardingInput,
  show: () => void,
): Promise<void> {
  const redirectUrl = input.ias?.redirectUrl ?? '';
  const identity = onboarding.identity();
  onboarding.state.phase = 'proving-identity';
  // Onboardings that began before only wait for their signals.
  const looks = patched('identity-looks');
  const wait = { onboarding, input, looks, show };
  if (identity.session === undefined) {
    const { sessionId, sessionUrl, expiresAt } = await essential(
      () => calls.createIdentitySession(patientId, redirectUrl),
      'identity-not-verified',
      'The patient was created, but its identity could not be asked for',
    );
    identity.session = { id: sessionId, url: sessionUrl, expiresAtMs: msOf(expiresAt) };
  }
  show();
  const end = await awaitPerson(wait, {
    page: identity.session,
    isDone: () => identity.proofedIdentityId !== undefined,
    summary: 'Wait until the person has verified who they are',
    look: async (sessionId) => {
      const session = await calls.getIdentitySession(sessionId);
      identity.proofedIdentityId ??= session.proofedIdentityId;
      return session.status;
    },
  });
  const { proofedIdentityId } = identity;
  if (proofedIdentityId === undefined)
    throw ApplicationFailure.nonRetryable(NOT_VERIFIED[end], 'identity-not-verified');

  while (identity.aal2SessionId === undefined) {
    // One that was open at a continue-as-new is waited for further.
    const page = identity.challenge ?? (await challenge(identity, calls, { proofedIdentityId, redirectUrl }));
    identity.challenge = page;
    show();
    const end = await awaitPerson(wait, {
      page,
      isDone: () => identity.aal2SessionId !== undefined,
      summary: 'Wait until the person has shown two factors',
      look: (challengeId) => lookAtChallenge(identity, calls, challengeId),
    });
    if (end !== 'done') identity.challenge = undefined;
  }
  onboarding.state.phase = 'querying';
  onboarding.state.problem = undefined;
  show();
}

async function lookAtChallenge(
  identity: IdentityState,
  calls: ExchangeCalls,
  challengeId: string,
): Promise<VerificationState> {
  try {
    const { status, aal2SessionId } = await calls.getChallenge(challengeId);
    identity.aal2SessionId ??= aal2SessionId;
    return status;
  } catch (error) {
    // An exchange that does not tell: what the browser brought is all there is, and the exchange will look at it.
    if (callFailure(error)?.kind === 'not-found') identity.aal2SessionId ??= identity.broughtSessionId;
    if (identity.aal2SessionId !== undefined) return 'verified';
    throw error;
  }
}

const NOT_VERIFIED = {
  done: 'Nobody was verified',
  late: 'Nobody was verified in time',
  failed: 'The person could not be verified as this patient',
} as const;

async function challenge(
  identity: IdentityState,
  calls: ExchangeCalls,
  request: { proofedIdentityId: string; redirectUrl: string },
): Promise<IdentityPage> {
  if (identity.challenges >= CHALLENGES_MAX)
    throw ApplicationFailure.nonRetryable('Nobody showed two factors in time', 'identity-not-confirmed');
  identity.challenges += 1;
  const { challengeId, challengeUrl, expiresAt } = await essential(
    () => calls.createChallenge(request, identity.challenges),
    'identity-not-confirmed',
    'The person was verified, but could not be asked for two factors',
  );
  return { id: challengeId, url: challengeUrl, expiresAtMs: msOf(expiresAt) };
}

/** Another exchange's time may be none. */
const msOf = (instant: string): number => Date.parse(instant) || Date.now() + HOUR_MS;
