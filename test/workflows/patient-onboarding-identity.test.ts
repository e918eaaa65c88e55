import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  PATIENT_ONBOARDING_MESSAGES as MESSAGES,
  type PatientOnboardingInput,
} from '../../src/contract/patient-onboarding.ts';
import { attempt, queryAnswer } from '../unit/orchestrator/onboarding-events.ts';
import {
  createOnboardingEnvironment,
  type Mocks,
  type OnboardingEnvironment,
  obliging,
  quick,
  statusOf,
} from './patient-onboarding-environment.ts';

const DAY_MS = 24 * 3_600_000;
const REDIRECT = 'https://app.example.org/back';
const input: Partial<PatientOnboardingInput> = { ias: { redirectUrl: REDIRECT }, timing: quick };

let environment: OnboardingEnvironment;
beforeAll(async () => {
  environment = await createOnboardingEnvironment();
});
afterAll(() => environment.close());

/** An exchange whose partner's pages work for these times; what it was asked is noted. */
function proving(asked: string[], challengeMs = 3_600_000): Mocks {
  const now = () => environment.environment.currentTimeMs();
  return obliging({
    createIdentitySession: async ({ body }) => {
      asked.push(`session for ${body.patientId}, ${Object.keys(body.metadata ?? {}).join()}`);
      const expiresAt = new Date((await now()) + 7 * DAY_MS).toISOString();
      return { sessionId: 's', sessionUrl: 'https://id.example.org/1', expiresAt, status: 'pending' };
    },
    createAal2Challenge: async ({ body }) => {
      asked.push(`challenge of ${body.proofedIdentityId}`);
      const expiresAt = new Date((await now()) + challengeMs).toISOString();
      return { challengeId: 'c', challengeUrl: 'https://id.example.org/2', expiresAt, method: 'otp' };
    },
    startNetworkQuery: async ({ query, body, aal2Session }) => {
      asked.push(`query ${query.purposeOfUse} of ${body.proofedIdentityId} under ${aal2Session}`);
      return queryAnswer(
        [
          attempt('hie', 'completed', 0, 1),
          attempt('pharmacy', 'completed', 0, 1),
          attempt('lab', 'completed', 0, 1),
        ],
        { status: 'completed' },
      );
    },
  });
}

test('a person who is verified days later, and shows two factors, gets their query under that session', async () => {
  const asked: string[] = [];
  await environment.withWorker(proving(asked), async () => {
    const run = await environment.start(input);
    await expect
      .poll(() => statusOf(run), { timeout: 10_000 })
      .toMatchObject({
        phase: 'proving-identity',
        identity: { state: 'to-verify', url: 'https://id.example.org/1' },
      });
    await environment.environment.sleep(3 * DAY_MS);
    await run.signal(MESSAGES.identityVerified, { proofedIdentityId: 'identity-1' });
    await run.signal(MESSAGES.identityVerified, { proofedIdentityId: 'identity-2' });
    await expect
      .poll(() => statusOf(run), { timeout: 10_000 })
      .toMatchObject({
        identity: { state: 'to-confirm', url: 'https://id.example.org/2' },
      });
    await run.signal(MESSAGES.aal2Confirmed, { aal2SessionId: 'aal2_session' });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(asked).toEqual([
      'session for patient-1, orchestrationId',
      'challenge of identity-1',
      'query ias of identity-1 under aal2_session',
    ]);
  });
});

test('a challenge that runs out is made anew, for a day; then nothing is asked about the patient', async () => {
  const asked: string[] = [];
  await environment.withWorker(proving(asked), async () => {
    const run = await environment.start(input);
    await run.signal(MESSAGES.identityVerified, { proofedIdentityId: 'identity-1' });
    await expect(run.result()).rejects.toMatchObject({ cause: { type: 'identity-not-confirmed' } });
    expect(asked.filter((line) => line.startsWith('challenge'))).toHaveLength(24);
    expect(asked.some((line) => line.startsWith('query'))).toBe(false);
  });
});

test('a person who does not come ends the onboarding when the page has run out', async () => {
  const asked: string[] = [];
  await environment.withWorker(proving(asked), async () => {
    const run = await environment.start(input);
    await expect(run.result()).rejects.toMatchObject({ cause: { type: 'identity-not-verified' } });
    expect(asked).toEqual(['session for patient-1, orchestrationId']);
  });
});
