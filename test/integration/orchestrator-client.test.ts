import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_KEY_ACCESS } from '../../src/contract/patient-onboarding.ts';
import type { Dialect } from '../../src/exchange/platform/account.ts';
import {
  accountAccess,
  createCredentials,
} from '../../src/orchestrator/client/credentials.ts';
import {
  createExchangeClient,
  type ExchangeClient,
} from '../../src/orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../src/orchestrator/client/failures.ts';
import {
  createTestGateway,
  TEST_INTERNAL_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { onboardingInput } from '../support/onboarding-events.ts';

// The two halves know each other by the contract only; here they meet.

let gateway: TestGateway;
let baseUrl: string;
const dispatcher = new Agent();
beforeAll(async () => {
  gateway = await createTestGateway();
  baseUrl = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await dispatcher.destroy();
  await gateway?.close();
});

function clientOf(
  account: TestAccount,
  how: 'internal token' | 'api key',
): ExchangeClient {
  const credentials = createCredentials({
    apiKey: account.apiKey,
    internalTokenKey: TEST_INTERNAL_KEY,
  });
  const access =
    how === 'api key' ? API_KEY_ACCESS : accountAccess(account.accountId);
  const credential = () => credentials(access);
  return createExchangeClient({
    baseUrl,
    credential,
    idempotency: true,
    timeoutMs: 240_000,
    dispatcher,
  });
}

const failureOf = async (
  call: Promise<unknown>,
): Promise<ExchangeCallError> => {
  const thrown: unknown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof ExchangeCallError) return thrown;
  throw new Error(`expected an ExchangeCallError, got ${String(thrown)}`);
};

const { patient, sources } = onboardingInput();

describe.each([
  ['internal token', 'interface'],
  ['internal token', 'published'],
  ['api key', 'interface'],
] as const)('with %s, dialect %s', (how, dialect: Dialect) => {
  let account: TestAccount;
  let client: ExchangeClient;
  beforeAll(async () => {
    account = await gateway.addAccount({ dialect });
    client = clientOf(account, how);
  });

  test('every step of an onboarding is understood on both sides', async () => {
    const { answer: listed } = await client.call('listFacilities', {});
    expect(listed.facilities.map(({ id }) => id)).toEqual([account.facilityId]);
    const create = { query: { facilityId: account.facilityId }, body: patient };
    const created = await client.call('createPatient', create, {
      idempotencyKey: 'create-1',
    });
    expect(created.status).toBe(201);
    const patientId = created.answer.id;
    expect((await client.call('createPatient', create)).status).toBe(200);
    expect(
      (await client.call('getPatient', { params: { id: patientId } })).answer
        .id,
    ).toBe(patientId);

    const { answer: cohort } = await client.call('createCohort', {
      body: { name: 'Diabetes' },
    });
    const added = {
      params: { id: patientId },
      body: { cohortIds: [cohort.id] },
    };
    for (const { answer } of [
      await client.call('addPatientToCohorts', added),
      await client.call('addPatientToCohorts', added),
    ])
      expect(answer.cohorts.map(({ id }) => id)).toEqual([cohort.id]);

    const query = {
      query: { patientId },
      body: { sources, metadata: { orchestrationId: 'abc' } },
    };
    const first = await client.call('startNetworkQuery', query, {
      idempotencyKey: 'start-1',
    });
    const again = await client.call('startNetworkQuery', query, {
      idempotencyKey: 'start-1',
    });
    expect(again.answer).toEqual(first.answer);
    const { answer: status } = await client.call('getNetworkQuery', {
      params: { requestId: first.answer.requestId },
    });
    expect(status.sources.map(({ type }) => type).sort()).toEqual([
      'hie',
      'lab',
      'pharmacy',
    ]);
    expect(gateway.launched).toContain(first.answer.requestId);
  });

  test('refusals say which member is wrong, and nothing of the person', async () => {
    const wrong = {
      ...patient,
      dob: '1990-02-31',
      contact: [{ phone: '617-555-0100' }],
    };
    const failure = await failureOf(
      client.call('createPatient', {
        query: { facilityId: account.facilityId },
        body: wrong,
      }),
    );
    expect(failure).toMatchObject({
      kind: 'rejected',
      retryable: false,
      httpStatus: 400,
    });
    expect(failure.message).toContain(
      'BAD_REQUEST "Missing or invalid parameters"',
    );
    expect(failure.message).toMatch(/dob.*contact/);
    for (const value of ['1990', '617', 'Jane', 'Smith'])
      expect(failure.message).not.toContain(value);
  });

  test('missing, ended and forbidden are different errors', async () => {
    const params = { requestId: '00000000-0000-4000-8000-000000000000' };
    expect(
      await failureOf(client.call('getNetworkQuery', { params })),
    ).toMatchObject({ kind: 'not-found' });
    const stranger = clientOf(
      { ...account, accountId: params.requestId, apiKey: 'wrong' },
      how,
    );
    expect(await failureOf(stranger.call('listCohorts', {}))).toMatchObject({
      kind: 'unauthorized',
    });
  });
});
