import { afterAll, beforeAll, expect, test } from 'vitest';
import { SOURCE_TYPES } from '../../src/contract/primitives.ts';
import { startOnboarding } from '../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import { searchAttribute } from '../../src/temporal/search-attributes.ts';
import { onboardingInput, queryAnswer } from '../support/onboarding-events.ts';
import {
  createOnboardingEnvironment,
  type OnboardingEnvironment,
  obliging,
} from '../support/patient-onboarding-environment.ts';
import { TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

let onboardings: OnboardingEnvironment;
beforeAll(async () => {
  onboardings = await createOnboardingEnvironment();
});
afterAll(() => onboardings?.close());

const ACCOUNT = '7b75d972-ae51-4563-993d-6e4adc3047ff';
const { facilityId, patient, sources } = onboardingInput();
const start = (jobId: string, account = ACCOUNT) =>
  startOnboarding(
    onboardings.environment.client,
    { jobId, facilityId, patient, sources },
    { exchange: { credentialRef: `account/${account}` }, idHmacKey: TEST_ID_HMAC_KEY },
  );

test('a job runs once: started again it is the same onboarding, while it runs and after it', async () => {
  const first = await start('job-1');
  expect(first.isNew).toBe(true);
  const second = await start('job-1');
  expect(second).toMatchObject({ isNew: false, workflowId: first.workflowId });

  const refuseAll = SOURCE_TYPES.map((source) => ({ source, httpStatus: 400 }));
  const activities = obliging({
    startNetworkQuery: async () => queryAnswer([], { status: 'failed', errors: refuseAll }),
  });
  const summary = await onboardings.withWorker(activities, () => second.handle.result());
  expect(summary).toMatchObject({ status: 'failed', sources: [{ outcome: 'not-started' }, {}, {}] });

  const third = await start('job-1');
  expect(third.isNew).toBe(false);
  expect(await third.handle.result()).toEqual(summary);
});

test('the same job id of another account is another job', async () => {
  const mine = await start('job-2');
  const theirs = await start('job-2', '00000000-0000-4000-8000-000000000009');
  expect(theirs).toMatchObject({ isNew: true });
  expect(theirs.workflowId).not.toBe(mine.workflowId);
});

test('what stands in clear text in Temporal is opaque', async () => {
  const { handle, workflowId } = await start('MRN-0042');
  expect(workflowId).not.toContain('0042');
  const { typedSearchAttributes, raw } = await handle.describe();
  expect(typedSearchAttributes.get(searchAttribute.accountId)).toBe(ACCOUNT);
  expect(typedSearchAttributes.get(searchAttribute.sources)).toEqual(['hie', 'pharmacy', 'lab']);
  const clearText = asText([raw, await handle.fetchHistory()]);
  // What the check can see: bytes too.
  expect(clearText).toContain('binary/encrypted');
  for (const secret of ['MRN-0042', 'Smith', '1990-01-01', '02110', 'Boston'])
    expect(clearText).not.toContain(secret);
});

function asText(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (typeof value === 'object' && value !== null) return Object.values(value).map(asText).join('\n');
  return String(value);
}
