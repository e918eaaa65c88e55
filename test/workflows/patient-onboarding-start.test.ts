import { afterAll, beforeAll, expect, test } from 'vitest';
import { SOURCE_TYPES } from '../../src/contract/primitives.ts';
import { startBulkOnboarding } from '../../src/orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
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
const refuseAll = SOURCE_TYPES.map((source) => ({ source, httpStatus: 400 }));
const refusing = obliging({
  startNetworkQuery: async () =>
    queryAnswer([], { status: 'failed', errors: refuseAll }),
});
const start = (jobId: string, account = ACCOUNT) =>
  startOnboarding(
    onboardings.environment.client,
    { jobId, facilityId, patient, sources },
    {
      exchange: { credentialRef: `account/${account}` },
      idHmacKey: TEST_ID_HMAC_KEY,
    },
  );

test('a job runs once: started again it is the same onboarding, while it runs and after it', async () => {
  const first = await start('job-1');
  expect(first.isNew).toBe(true);
  const second = await start('job-1');
  expect(second).toMatchObject({ isNew: false, workflowId: first.workflowId });

  const summary = await onboardings.withWorker(refusing, () =>
    second.handle.result(),
  );
  expect(summary).toMatchObject({
    status: 'failed',
    sources: [{ outcome: 'not-started' }, {}, {}],
  });

  const third = await start('job-1');
  expect(third.isNew).toBe(false);
  expect(await third.handle.result()).toEqual(summary);
});

test('a job id that was used for another person is refused: nobody gets the result of somebody else', async () => {
  const begin = (given: object, intakeMessageId?: string) =>
    startOnboarding(
      onboardings.environment.client,
      {
        jobId: 'reused',
        facilityId,
        patient: { ...patient, ...given },
        sources,
      },
      {
        exchange: { credentialRef: `account/${ACCOUNT}` },
        idHmacKey: TEST_ID_HMAC_KEY,
        intakeMessageId,
      },
    );
  const first = await begin({}, 'm-1');
  expect(first.isOther).toBe(false);
  const { firstName, ...rest } = patient;
  const reordered = {
    jobId: 'reused',
    facilityId,
    patient: { ...rest, firstName },
    sources,
  };
  const again = await startOnboarding(
    onboardings.environment.client,
    reordered,
    {
      exchange: { credentialRef: `account/${ACCOUNT}` },
      idHmacKey: TEST_ID_HMAC_KEY,
    },
  );
  expect(again).toMatchObject({ isNew: false, isOther: false });
  expect(await begin({ firstName: 'Somebody Else' })).toMatchObject({
    isNew: false,
    isOther: true,
  });
  expect(
    await startOnboarding(
      onboardings.environment.client,
      { ...reordered, facilityId: 'another-facility' },
      {
        exchange: { credentialRef: `account/${ACCOUNT}` },
        idHmacKey: TEST_ID_HMAC_KEY,
      },
    ),
  ).toMatchObject({ isNew: false, isOther: true });
  expect((await begin({ firstName: 'Somebody Else' }, 'm-2')).isOther).toBe(
    true,
  );

  // The run that holds the person is deleted; the next one, and the ended one,
  // still know whose job it is.
  await onboardings.withWorker(refusing, () => first.handle.result());
  expect((await begin({}, 'm-3')).isOther).toBe(false);
  expect((await begin({ firstName: 'Somebody Else' }, 'm-4')).isOther).toBe(
    true,
  );
  expect(await begin({ dob: '1950-01-01' })).toMatchObject({
    isNew: false,
    isOther: true,
  });
});

test('an import under the job id of another one is refused: no panel is taken for imported that was not', async () => {
  const file = {
    ref: 'upload/1',
    sha256: 'a'.repeat(64),
    sizeBytes: 1,
    contentType: 'text/csv',
  };
  const panel = {
    jobId: 'panel',
    facilityId: 'facility-1',
    dryRun: false,
    rows: 1,
    file,
  };
  const begin = (given: Partial<typeof panel> = {}) =>
    startBulkOnboarding(
      onboardings.environment.client,
      { ...panel, ...given },
      {
        exchange: { credentialRef: `account/${ACCOUNT}` },
        idHmacKey: TEST_ID_HMAC_KEY,
      },
    );
  expect(await begin()).toMatchObject({ isNew: true });
  const again = await begin({ file: { ...file, ref: 'upload/2' } });
  expect([again.isNew, again.other]).toEqual([false, undefined]);
  expect(
    await begin({ file: { ...file, sha256: 'b'.repeat(64) } }),
  ).toMatchObject({ other: 'fileSha256' });
  expect(await begin({ dryRun: true })).toMatchObject({ other: 'dryRun' });
  expect(await begin({ facilityId: 'facility-2' })).toMatchObject({
    isNew: false,
    other: 'facilityId',
  });
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
  expect(typedSearchAttributes.get(searchAttribute.sources)).toEqual([
    'hie',
    'pharmacy',
    'lab',
  ]);
  const clearText = asText([raw, await handle.fetchHistory()]);
  // What the check can see: bytes too.
  expect(clearText).toContain('binary/encrypted');
  for (const secret of ['MRN-0042', 'Smith', '1990-01-01', '02110', 'Boston'])
    expect(clearText).not.toContain(secret);
});

function asText(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (typeof value === 'object' && value !== null)
    return Object.values(value).map(asText).join('\n');
  return String(value);
}
