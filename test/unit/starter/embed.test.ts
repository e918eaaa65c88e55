import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const PATIENT = '0198f1c2-0000-7000-8000-000000000001';
const ACCOUNT = '0198f1c2-0000-7000-8000-000000000002';
const PERSON = {
  id: PATIENT,
  firstName: ['Maribel'],
  lastName: ['Ortega'],
  dob: '1980-04-05',
  genderAtBirth: 'F',
  address: [],
  facilityIds: [],
};

let exchange: Stub;
beforeEach(async () => {
  exchange = await startStub();
  exchange.answer = ({ url }) => {
    if (url.includes('/token/embed'))
      return { status: 200, body: { token: 'head.claims.signature' } };
    if (url.includes('/settings'))
      return {
        status: 200,
        body: { id: ACCOUNT, webhookUrl: null, webhookKey: null },
      };
    return url.includes(PATIENT)
      ? { status: 200, body: PERSON }
      : { status: 404, body: { status: 404, detail: 'Patient not found' } };
  };
});
afterEach(() => exchange.close());

const embed = (...options: string[]) =>
  starter([
    'embed',
    ...options,
    '--base-url',
    exchange.url,
    '--api-key',
    'key',
  ]);

test('the address of the page is printed, with its token in the fragment', async () => {
  const { exitCode, stdout } = await embed(PATIENT, '--seconds', '600');
  expect(exitCode).toBe(0);
  expect(stdout).toContain(
    `${exchange.url}/embed/${ACCOUNT}/patient/${PATIENT}#access_token=head.claims.signature`,
  );
  const asked = exchange.requests.find(({ url }) =>
    url.includes('/token/embed'),
  );
  expect(JSON.parse(String(asked?.body))).toEqual({ expirationInSeconds: 600 });
});

test('no token is made for a patient who is none', async () => {
  const { exitCode } = await embed('0198f1c2-0000-7000-8000-00000000000f');
  expect(exitCode).not.toBe(0);
  expect(
    exchange.requests.some(({ url }) => url.includes('/token/embed')),
  ).toBe(false);
});
