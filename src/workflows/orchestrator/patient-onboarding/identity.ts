import { ApplicationFailure, condition } from '@temporalio/workflow';
import type { IdentityRequest } from '../../../contract/patient-onboarding.ts';
import type { ExchangeCalls } from './exchange-calls.ts';
import { essential } from './failures.ts';
import type { Onboarding } from './onboarding.ts';
import type { IdentityState } from './onboarding-state.ts';

/** A challenge works for an hour; for a day a new one stands ready when one has run out. */
const CHALLENGES_MAX = 24;
const HOUR_MS = 3_600_000;

/**
 * Individual access: the person verifies who they are (days may go by), then shows two factors. What was done before a
 * continue-as-new is not done again. Throws `identity-not-verified` and `identity-not-confirmed`.
 */
export async function proveIdentity(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
  { redirectUrl }: IdentityRequest,
  show: () => void,
): Promise<void> {
  const identity = onboarding.identity();
  onboarding.state.phase = 'proving-identity';
  if (identity.session === undefined) {
    const { sessionUrl, expiresAt } = await essential(
      () => calls.createIdentitySession(patientId, redirectUrl),
      'identity-not-verified',
      'The patient was created, but its identity could not be asked for',
    );
    identity.session = { url: sessionUrl, expiresAtMs: msOf(expiresAt) };
  }
  show();
  const isVerified = await condition(
    () => identity.proofedIdentityId !== undefined,
    leftMs(identity.session.expiresAtMs),
    { summary: 'Wait until the person has verified who they are' },
  );
  const { proofedIdentityId } = identity;
  if (!isVerified || proofedIdentityId === undefined)
    throw ApplicationFailure.nonRetryable('Nobody was verified in time', 'identity-not-verified');

  while (identity.aal2SessionId === undefined) {
    if (identity.challenges >= CHALLENGES_MAX)
      throw ApplicationFailure.nonRetryable('Nobody showed two factors in time', 'identity-not-confirmed');
    await challenge(identity, calls, { proofedIdentityId, redirectUrl });
    show();
    await condition(
      () => identity.aal2SessionId !== undefined,
      leftMs(identity.challenge?.expiresAtMs ?? Date.now()),
      { summary: 'Wait until the person has shown two factors' },
    );
  }
  onboarding.state.phase = 'querying';
  show();
}

async function challenge(
  identity: IdentityState,
  calls: ExchangeCalls,
  request: { proofedIdentityId: string; redirectUrl: string },
): Promise<void> {
  identity.challenges += 1;
  const { challengeUrl, expiresAt } = await essential(
    () => calls.createChallenge(request, identity.challenges),
    'identity-not-confirmed',
    'The person was verified, but could not be asked for two factors',
  );
  identity.challenge = { url: challengeUrl, expiresAtMs: msOf(expiresAt) };
}

const leftMs = (atMs: number): number => Math.max(atMs - Date.now(), 1);
/** Another exchange's time may be none. */
const msOf = (instant: string): number => Date.parse(instant) || Date.now() + HOUR_MS;
