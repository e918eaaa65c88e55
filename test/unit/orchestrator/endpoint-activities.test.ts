import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { Agent } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createEndpointActivities } from '../../../src/activities/orchestrator/endpoints.ts';
import { ConfigError } from '../../../src/config.ts';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { createExchangeClient } from '../../../src/orchestrator/client/exchange-client.ts';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { TEST_ID_HMAC_KEY } from '../../support/test-keys.ts';

const quiet = { logger: new DefaultLogger('ERROR') };
let stub: Stub;
const dispatcher = new Agent();
beforeAll(async () => {
  stub = await startStub();
});
afterEach(() => {
  stub.requests.length = 0;
});
afterAll(async () => {
  await dispatcher.destroy();
  await stub.close();
});

const exchange = { credentialRef: 'api-key' };
const activities = createEndpointActivities({
  clientFor: () =>
    createExchangeClient({
      baseUrl: stub.url,
      credential: async () => ({ name: 'x-api-key', value: 'secret' }),
      idempotency: true,
      timeoutMs: 240_000,
      dispatcher,
    }),
  idHmacKey: TEST_ID_HMAC_KEY,
});

const QUERY = {
  requestId: 'r',
  startedAt: 'x',
  status: 'processing',
  sources: [],
};
const startInput = {
  exchange,
  query: { patientId: 'p' },
  body: { sources: { lab: { enabled: true } } },
};

/** Runs an activity as the given attempt of the given activity. */
function run<A extends unknown[], R>(
  activity: (...args: A) => Promise<R>,
  args: A,
  {
    workflowId = 'patient-onboarding/MRN-42',
    activityId = 'start-query-1',
    attempt = 1,
  } = {},
): Promise<R> {
  const environment = new MockActivityEnvironment(
    {
      activityId,
      attempt,
      workflowExecution: { workflowId, runId: `run-${attempt}` },
    },
    quiet,
  );
  return environment.run(activity, ...args) as Promise<R>;
}

async function failureOf(call: Promise<unknown>): Promise<ApplicationFailure> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ApplicationFailure))
    throw new Error(`expected a failure, got ${String(thrown)}`);
  return thrown;
}

test('every operation of the contract has its activity', () => {
  expect(Object.keys(activities).sort()).toEqual(Object.keys(endpoints).sort());
});

test('a credential that this worker does not have fails at once, and says which one', async () => {
  const { listFacilities } = createEndpointActivities({
    clientFor: () =>
      createExchangeClient({
        baseUrl: stub.url,
        credential: async () =>
          Promise.reject(new ConfigError('EXCHANGE_API_KEY is not set')),
        idempotency: true,
        timeoutMs: 240_000,
        dispatcher,
      }),
    idHmacKey: TEST_ID_HMAC_KEY,
  });
  const failure = await failureOf(run(listFacilities, [{ exchange }]));
  expect(failure).toMatchObject({ type: 'unauthorized', nonRetryable: true });
  expect(failure.message).toBe('EXCHANGE_API_KEY is not set');
});

describe('the idempotency key', () => {
  const keyOf = async (
    options: Parameters<typeof run>[2],
  ): Promise<unknown> => {
    stub.answer = () => ({ status: 200, body: QUERY });
    await run(activities.startNetworkQuery, [startInput], options);
    return stub.requests.at(-1)?.headers['idempotency-key'];
  };

  test('is one for all attempts of an activity and another for any other activity', async () => {
    const first = await keyOf({ attempt: 1 });
    expect(await keyOf({ attempt: 2 })).toBe(first);
    expect(await keyOf({ activityId: 'start-query-2' })).not.toBe(first);
    expect(await keyOf({ workflowId: 'patient-onboarding/other' })).not.toBe(
      first,
    );
  });

  test('shows nothing of the workflow id', async () => {
    expect(await keyOf({})).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe('a failure', () => {
  test.each([
    [400, 'rejected', true],
    [404, 'not-found', true],
    [429, 'rate-limited', false],
    [500, 'ambiguous', false],
    [503, 'unavailable', false],
  ] as const)(
    'of status %i has the type %s',
    async (status, type, nonRetryable) => {
      stub.answer = () => ({
        status,
        headers: { 'retry-after': '9' },
        body: { detail: 'Jane Smith' },
      });
      const failure = await failureOf(
        run(activities.startNetworkQuery, [startInput]),
      );
      expect(failure).toMatchObject({
        type,
        nonRetryable,
        nextRetryDelay: 9_000,
      });
      expect(
        JSON.stringify([failure.message, failure.details, failure.cause]),
      ).not.toContain('Jane');
    },
  );
});

describe('a result', () => {
  test('keeps the webhook key out of the history', async () => {
    const settings = {
      id: '7b75d972-ae51-4563-993d-6e4adc3047ff',
      webhookUrl: null,
      webhookKey: 'whsec_secret',
    };
    stub.answer = () => ({ status: 200, body: settings });
    for (const result of [
      await run(activities.getSettings, [{ exchange }]),
      await run(activities.updateSettings, [
        { exchange, body: { webhookUrl: null } },
      ]),
    ])
      expect(JSON.stringify(result)).not.toContain('whsec');
  });

  test('tells a created patient from a known one by the status, and carries no demographics', async () => {
    const patient = {
      id: 'p',
      firstName: ['Jane'],
      lastName: ['Smith'],
      dob: '1990-01-01',
      genderAtBirth: 'F',
      address: [],
      facilityIds: ['f'],
    };
    for (const status of [201, 200]) {
      stub.answer = () => ({ status, body: patient });
      const body = { ...patient, genderAtBirth: 'F' as const };
      expect(
        await run(activities.createPatient, [
          { exchange, query: { facilityId: 'f' }, body },
        ]),
      ).toEqual({
        patientId: 'p',
        created: status === 201,
      });
    }
  });

  test('of a read of a patient is where it stands, without demographics', async () => {
    const status = { hieOptOut: true };
    const demographics = {
      firstName: ['Jane'],
      lastName: ['Smith'],
      dob: '1990-01-01',
      genderAtBirth: 'F',
      address: [],
    };
    stub.answer = () => ({
      status: 200,
      body: { id: 'p', eTag: 'e', ...demographics, facilityIds: ['f'], status },
    });
    expect(
      await run(activities.getPatient, [{ exchange, params: { id: 'p' } }]),
    ).toEqual({
      id: 'p',
      eTag: 'e',
      facilityIds: ['f'],
      hieOptOut: true,
    });
  });

  test('of a delete is nothing, and its body goes with the call', async () => {
    stub.answer = () => ({ status: 204 });
    expect(
      await run(activities.deleteCohort, [{ exchange, params: { id: 'c' } }]),
    ).toBeUndefined();
    stub.answer = () => ({
      status: 200,
      body: { message: 'gone', cohort: { id: 'c', name: 'n', size: 0 } },
    });
    const body = { allPatients: true as const };
    expect(
      await run(activities.removePatientsFromCohort, [
        { exchange, params: { id: 'c' }, body },
      ]),
    ).toEqual({
      size: 0,
    });
    expect(stub.requests.at(-1)).toMatchObject({
      method: 'DELETE',
      body: JSON.stringify(body),
    });
  });

  test('of a page of patients is whom it names, who is opted out, and where it goes on', async () => {
    const person = { firstName: ['Jane'], lastName: ['Smith'] };
    const patients = [
      { id: 'p', ...person, status: { hieOptOut: true } },
      { id: 'q', ...person },
    ];
    stub.answer = () => ({
      status: 200,
      body: { patients, meta: { nextPage: 'https://x/next' } },
    });
    const input = { exchange, params: { id: 'c' }, query: { count: 2 } };
    expect(await run(activities.listCohortPatients, [input])).toEqual({
      patients: [
        { id: 'p', hieOptOut: true },
        { id: 'q', hieOptOut: false },
      ],
      itemsInTotal: undefined,
      nextPage: 'https://x/next',
    });
  });

  test('that is too large for a history is refused with its size', async () => {
    const cohorts = Array.from({ length: 2_000 }, (_, index) => ({
      id: `cohort-${index}`,
      name: 'x'.repeat(40),
    }));
    stub.answer = () => ({ status: 200, body: { cohorts } });
    const failure = await failureOf(
      run(activities.listCohorts, [{ exchange }]),
    );
    expect(failure).toMatchObject({ type: 'bad-answer', nonRetryable: true });
    expect(failure.message).toMatch(/listCohorts: the result has \d+ bytes/);
  });
});

describe('cancellation', () => {
  test('aborts a read', async () => {
    stub.answer = () => 'silence';
    const environment = new MockActivityEnvironment({}, quiet);
    const call = environment.run(activities.listCohorts, { exchange });
    environment.cancel();
    await expect(call).rejects.toMatchObject({ name: 'CancelledFailure' });
  });

  test('lets a POST finish, so that its outcome is known', async () => {
    const environment = new MockActivityEnvironment({}, quiet);
    stub.answer = () => {
      environment.cancel();
      return { status: 200, body: QUERY };
    };
    expect(
      await environment.run(activities.startNetworkQuery, startInput),
    ).toMatchObject({ requestId: 'r' });
  });
});
