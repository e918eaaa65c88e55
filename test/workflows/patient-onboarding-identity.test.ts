import { afterAll, beforeAll, expect, test } from 'vitest';
import { PATIENT_ONBOARDING_MESSAGES as MESSAGES } from '../../src/contract/patient-onboarding.ts';
import {
  attempt,
  type OnboardingChanges,
  queryAnswer,
} from '../support/onboarding-events.ts';
import {
  createOnboardingEnvironment,
  failure,
  type Mocks,
  type OnboardingEnvironment,
  obliging,
  quick,
  statusOf,
} from '../support/patient-onboarding-environment.ts';

const DAY_MS = 24 * 3_600_000;
const REDIRECT = 'https://app.example.org/back';
const input: OnboardingChanges = {
  ias: { redirectUrl: REDIRECT },
  timing: quick,
};

let environment: OnboardingEnvironment;
beforeAll(async () => {
  environment = await createOnboardingEnvironment();
});
afterAll(() => environment.close());

/**
 * An exchange whose partner's pages work for these times; what it was asked is
 * noted. Without more it is one that tells of neither session nor challenge.
 */
function proving(
  asked: string[],
  more: Mocks = {},
  challengeMs = 3_600_000,
): Mocks {
  const now = () => environment.environment.currentTimeMs();
  return obliging({
    createIdentitySession: async ({ body }) => {
      asked.push(
        `session for ${body.patientId}, ${Object.keys(body.metadata ?? {}).join()}`,
      );
      const expiresAt = new Date((await now()) + 7 * DAY_MS).toISOString();
      return {
        sessionId: 's',
        sessionUrl: 'https://id.example.org/1',
        expiresAt,
        status: 'pending',
      };
    },
    createAal2Challenge: async ({ body }) => {
      asked.push(`challenge of ${body.proofedIdentityId}`);
      const expiresAt = new Date((await now()) + challengeMs).toISOString();
      return {
        challengeId: 'c',
        challengeUrl: 'https://id.example.org/2',
        expiresAt,
        method: 'otp',
      };
    },
    getIdentitySession: async () => Promise.reject(failure('not-found')),
    getAal2Challenge: async () => Promise.reject(failure('not-found')),
    startNetworkQuery: async ({ query, body, aal2Session }) => {
      asked.push(
        `query ${query.purposeOfUse} of ${body.proofedIdentityId} under ${aal2Session}`,
      );
      return queryAnswer(
        [
          attempt('hie', 'completed', 0, 1),
          attempt('pharmacy', 'completed', 0, 1),
          attempt('lab', 'completed', 0, 1),
        ],
        { status: 'completed' },
      );
    },
    ...more,
  });
}

const AT = '2026-11-21T12:00:00.000Z';
const session = (
  status: 'pending' | 'verified' | 'failed',
  proofedIdentityId?: string,
) => ({
  sessionId: 's',
  patientId: 'patient-1',
  expiresAt: AT,
  status,
  proofedIdentityId,
});
const challenge = (
  status: 'pending' | 'verified' | 'failed',
  aal2SessionId?: string,
) => ({
  challengeId: 'c',
  expiresAt: AT,
  status,
  aal2SessionId,
});

test('a person who is verified days later, and shows two factors, gets their query under that session', async () => {
  const asked: string[] = [];
  await environment.withWorker(proving(asked), async () => {
    const run = await environment.start(input);
    await expect
      .poll(() => statusOf(run), { timeout: 240_000 })
      .toMatchObject({
        phase: 'proving-identity',
        identity: { state: 'to-verify', url: 'https://id.example.org/1' },
      });
    await environment.environment.sleep(3 * DAY_MS);
    await run.signal(MESSAGES.identityVerified, {
      proofedIdentityId: 'identity-1',
    });
    await run.signal(MESSAGES.identityVerified, {
      proofedIdentityId: 'identity-2',
    });
    await expect
      .poll(() => statusOf(run), { timeout: 240_000 })
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
    const run = await environment.start({
      ...input,
      timing: { pollFirstMs: DAY_MS },
    });
    await run.signal(MESSAGES.identityVerified, {
      proofedIdentityId: 'identity-1',
    });
    await expect(run.result()).rejects.toMatchObject({
      cause: { type: 'identity-not-confirmed' },
    });
    expect(asked.filter((line) => line.startsWith('challenge'))).toHaveLength(
      24,
    );
    expect(asked.some((line) => line.startsWith('query'))).toBe(false);
  });
});

test('a person who does not come ends the onboarding when the page has run out', async () => {
  const asked: string[] = [];
  await environment.withWorker(proving(asked), async () => {
    const run = await environment.start(input);
    await expect(run.result()).rejects.toMatchObject({
      cause: { type: 'identity-not-verified' },
    });
    expect(asked).toEqual(['session for patient-1, orchestrationId']);
  });
});

test('a webhook and a return that get lost are made up for by looks, with longer and longer pauses', async () => {
  const asked: string[] = [];
  const looksAt: number[] = [];
  const answers = proving(asked, {
    getIdentitySession: async ({ params }) => {
      looksAt.push(await environment.environment.currentTimeMs());
      asked.push(`look at ${params.id}`);
      // One look that fails is nothing.
      if (looksAt.length === 2) throw failure('rejected');
      return looksAt.length < 4
        ? session('pending')
        : session('verified', 'identity-1');
    },
    getAal2Challenge: async () => challenge('verified', 'aal2_session'),
  });
  await environment.withWorker(answers, async () => {
    const run = await environment.start(input);
    expect(await run.result()).toMatchObject({ status: 'completed' });
  });
  const looks = Array.from({ length: 4 }, () => 'look at s');
  expect(asked).toEqual([
    'session for patient-1, orchestrationId',
    ...looks,
    'challenge of identity-1',
    'query ias of identity-1 under aal2_session',
  ]);
  const pauses = looksAt
    .slice(1)
    .map((at, index) => at - (looksAt[index] ?? 0));
  expect(
    pauses.every((ms, index) => index === 0 || ms > (pauses[index - 1] ?? 0)),
  ).toBe(true);
});

test('a person who comes back is looked after at once', async () => {
  let looks = 0;
  const asked: string[] = [];
  const answers = proving(asked, {
    getIdentitySession: async () => {
      looks += 1;
      return session('verified', 'identity-1');
    },
    getAal2Challenge: async () => challenge('verified', 'aal2_session'),
  });
  await environment.withWorker(answers, async () => {
    // Nobody would look by themselves before the page has run out.
    const run = await environment.start({
      ...input,
      timing: { pollFirstMs: 30 * DAY_MS },
    });
    await run.signal(MESSAGES.personReturned);
    await expect
      .poll(() => statusOf(run), { timeout: 240_000 })
      .toMatchObject({ identity: { state: 'to-confirm' } });
    expect(looks).toBe(1);
    await run.signal(MESSAGES.personReturned, {
      aal2SessionId: 'aal2_of_somebody',
    });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(asked.at(-1)).toBe('query ias of identity-1 under aal2_session');
  });
});

test('what the browser brought counts where the exchange cannot be asked', async () => {
  const asked: string[] = [];
  await environment.withWorker(proving(asked), async () => {
    const run = await environment.start({
      ...input,
      timing: { pollFirstMs: 30 * DAY_MS },
    });
    await run.signal(MESSAGES.identityVerified, {
      proofedIdentityId: 'identity-1',
    });
    await run.signal(MESSAGES.personReturned, {
      aal2SessionId: 'aal2_brought',
    });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(asked.at(-1)).toBe('query ias of identity-1 under aal2_brought');
  });
});

test('a person who is not the patient ends it soon, and one who fails the challenge is given another', async () => {
  const asked: string[] = [];
  const refusing = proving(asked, {
    getIdentitySession: async () => session('failed'),
  });
  await environment.withWorker(refusing, async () => {
    const run = await environment.start(input);
    await expect(run.result()).rejects.toMatchObject({
      cause: { type: 'identity-not-verified' },
    });
    expect(asked).toEqual(['session for patient-1, orchestrationId']);
  });
  const outcomes = [challenge('failed'), challenge('verified', 'aal2_session')];
  const again = proving(asked, {
    getIdentitySession: async () => session('verified', 'identity-1'),
    getAal2Challenge: async () => outcomes.shift() ?? challenge('pending'),
  });
  await environment.withWorker(again, async () => {
    const run = await environment.start(input);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(asked.filter((line) => line.startsWith('challenge'))).toHaveLength(
      2,
    );
  });
});
