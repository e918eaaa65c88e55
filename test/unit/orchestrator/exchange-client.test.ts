import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { jwtVerify } from 'jose';
import { Agent } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { API_KEY_ACCESS } from '../../../src/contract/patient-onboarding.ts';
import type { SourceType } from '../../../src/contract/primitives.ts';
import {
  accountAccess,
  configuredAccess,
  createCredentials,
} from '../../../src/orchestrator/client/credentials.ts';
import { createExchangeClient } from '../../../src/orchestrator/client/exchange-client.ts';
import {
  boundedRetryAfterMs,
  ExchangeCallError,
} from '../../../src/orchestrator/client/failures.ts';
import { describeError } from '../../../src/starter/errors.ts';
import {
  type Stub,
  type StubAnswer,
  startStub,
} from '../../support/http-stub.ts';

const QUERY = {
  requestId: 'request-1',
  startedAt: '2026-01-01T00:00:00Z',
  status: 'processing',
  sources: [
    { type: 'hie', status: 'processing', startedAt: '2026-01-01T00:00:00Z' },
  ],
};

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

const client = ({
  idempotency = true,
  timeoutMs = 240_000,
  baseUrl = '',
} = {}) =>
  createExchangeClient({
    baseUrl: baseUrl || stub.url,
    credential: async () => ({ name: 'x-api-key', value: 'secret' }),
    idempotency,
    timeoutMs,
    dispatcher,
  });

const start = (
  options: { idempotency?: boolean; timeoutMs?: number; baseUrl?: string } = {},
) =>
  client(options).call(
    'startNetworkQuery',
    {
      query: { patientId: 'p 1' },
      body: { sources: { hie: { enabled: true } } },
    },
    { idempotencyKey: 'key-1' },
  );

async function failureOf(call: Promise<unknown>): Promise<ExchangeCallError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ExchangeCallError))
    throw new Error(`expected an ExchangeCallError, got ${String(thrown)}`);
  return thrown;
}

function answering(answer: StubAnswer): void {
  stub.answer = () => answer;
}

describe('a call', () => {
  test('is sent as the interface says, with credential and idempotency key', async () => {
    answering({ status: 200, body: QUERY });
    const { status, answer } = await start();
    expect(status).toBe(200);
    expect(answer).toMatchObject({ requestId: 'request-1', errors: [] });
    const [request] = stub.requests;
    expect(request).toMatchObject({
      method: 'POST',
      url: '/medical/v1/network/query?patientId=p+1',
    });
    expect(request?.headers).toMatchObject({
      'x-api-key': 'secret',
      'idempotency-key': 'key-1',
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      sources: { hie: { enabled: true } },
    });
  });

  test('sends no idempotency key to an exchange that knows none', async () => {
    answering({ status: 200, body: QUERY });
    await start({ idempotency: false });
    expect(stub.requests[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  test('escapes path parameters and keeps the path of the base address', async () => {
    answering({ status: 200, body: QUERY });
    await client({ baseUrl: `${stub.url}/base/` }).call('getNetworkQuery', {
      params: { requestId: 'a/../b?c' },
    });
    expect(stub.requests[0]?.url).toBe(
      '/base/medical/v1/network/query/a%2F..%2Fb%3Fc',
    );
    await expect(
      client().call('getNetworkQuery', { params: { requestId: '..' } }),
    ).rejects.toThrow(TypeError);
  });

  test('ends at once when its caller gives it up', async () => {
    answering('silence');
    const reason = new Error('given up');
    const signal = AbortSignal.abort(reason);
    await expect(client().call('listCohorts', {}, { signal })).rejects.toBe(
      reason,
    );
  });
});

test('a refusal keeps the words of the exchange for a terminal, and out of everything that serializes the error', async () => {
  const detail = 'dob: "31.12.Smith" is not a date';
  answering({
    status: 400,
    body: {
      name: 'BAD_REQUEST',
      title: 'Invalid',
      detail,
      errors: [{ path: 'dob' }],
    },
  });
  const failure = await failureOf(start());
  expect(failure.explanation()).toBe(detail);
  const serialized = JSON.stringify([
    failure,
    failure.message,
    failure.stack,
    { ...failure },
  ]);
  expect(serialized).not.toContain('Smith');
  expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(
    'Smith',
  );
  expect(describeError(failure).message).toBe(
    `The exchange rejected the request: ${detail}.`,
  );
});

describe('answers of another service', () => {
  test('may have more members than ours, fewer of those that the interface does not require, and one string for names', async () => {
    answering({
      status: 200,
      body: {
        id: 'not-a-uuid',
        firstName: 'Jane Ann',
        lastName: 'Smith',
        dob: '1990-01-01',
        genderAtBirth: 'F',
        address: [{ city: 'Boston' }],
        facilityIds: ['f'],
        somethingNew: { a: 1 },
      },
    });
    const { answer } = await client().call('getPatient', {
      params: { id: 'p' },
    });
    expect(answer).toMatchObject({ id: 'not-a-uuid', firstName: 'Jane Ann' });
    expect(answer).not.toHaveProperty('somethingNew');
  });

  test('may have sources of further types, which are left out', async () => {
    const startedAt = '2026-01-01T00:00:00Z';
    const sources = ['imaging', 'lab'].map((type) => ({
      type,
      status: 'completed',
      startedAt,
    }));
    const errors = [{ source: 'imaging', httpStatus: 503 }];
    answering({ status: 200, body: { ...QUERY, sources, errors } });
    const { answer } = await start();
    // Without a cast: what an answer names can be passed on.
    const named: SourceType[] = answer.sources.map(({ type }) => type);
    expect([named, answer.errors]).toEqual([['lab'], []]);
    answering({
      status: 200,
      body: { ...QUERY, sources: [{ status: 'completed', startedAt }] },
    });
    expect(await failureOf(start())).toMatchObject({ kind: 'bad-answer' });
  });

  test('must have what the interface requires; the failure names the path, not the value', async () => {
    answering({
      status: 200,
      body: { ...QUERY, requestId: undefined, status: 42 },
    });
    const failure = await failureOf(start());
    expect(failure).toMatchObject({
      kind: 'bad-answer',
      retryable: false,
      httpStatus: 200,
    });
    expect(failure.message).toBe(
      'startNetworkQuery: 200, but the response does not match the interface: requestId, status',
    );
  });

  test.each([['<html>Jane Smith</html>'], [''], ['[]'], ['null']])(
    'that are no object are refused (%s)',
    async (body) => {
      answering({ status: 200, body });
      expect(await failureOf(start())).toMatchObject({
        kind: 'bad-answer',
        retryable: false,
      });
    },
  );

  test('of unbounded size are not read to the end', async () => {
    answering({
      status: 200,
      body: `{"requestId":"${'x'.repeat(5 * 1024 * 1024)}"}`,
    });
    expect(await failureOf(start())).toMatchObject({ kind: 'bad-answer' });
  });
});

describe('which failures may be tried again is decided here', () => {
  test.each([
    [400, 'rejected', false],
    [401, 'unauthorized', false],
    [403, 'unauthorized', false],
    [404, 'not-found', false],
    [408, 'unavailable', true],
    [412, 'conflict', false],
    [422, 'rejected', false],
    [423, 'conflict', false],
    [429, 'rate-limited', true],
    [500, 'unavailable', true],
    [501, 'rejected', false],
    [502, 'unavailable', true],
    [503, 'unavailable', true],
    [302, 'bad-answer', false],
  ] as const)('a GET answered %i is %s', async (status, kind, retryable) => {
    answering({ status, body: { name: 'X' } });
    expect(await failureOf(client().call('listFacilities', {}))).toMatchObject({
      kind,
      retryable,
      httpStatus: status,
    });
  });

  test.each([401, 403])(
    'a credential that is refused with %i is named as what to check',
    async (status) => {
      answering({ status, body: { name: 'FORBIDDEN' } });
      const failure = await failureOf(client().call('listFacilities', {}));
      expect(failure).toMatchObject({ kind: 'unauthorized', retryable: false });
      expect(failure.message).toMatch(
        /^listFacilities: 40[13] FORBIDDEN; .*check EXCHANGE_API_KEY/,
      );
    },
  );

  test.each([
    [200, 'bad-answer', false],
    [403, 'unauthorized', false],
    [404, 'not-found', false],
    [502, 'unavailable', true],
  ] as const)(
    'an HTML page with %i is named as such',
    async (status, kind, retryable) => {
      const page = '<html>Please sign in</html>';
      answering({
        status,
        body: page,
        headers: { 'content-type': 'text/html; charset=utf-8' },
      });
      const failure = await failureOf(client().call('listFacilities', {}));
      expect(failure).toMatchObject({ kind, retryable });
      expect(failure.message).toMatch(
        /the answer is an HTML page.*check EXCHANGE_BASE_URL/,
      );
      expect(failure.message).not.toContain('sign in');
    },
  );

  test('a 409 under an idempotency key is the first call that still runs; to a command it is the answer', async () => {
    answering({ status: 409 });
    expect(await failureOf(start())).toMatchObject({
      kind: 'conflict',
      retryable: true,
    });
    expect(await failureOf(start({ idempotency: false }))).toMatchObject({
      kind: 'conflict',
      retryable: false,
    });
    const cancel = client().call(
      'cancelNetworkQuery',
      { params: { requestId: 'r' } },
      { idempotencyKey: 'k' },
    );
    expect(await failureOf(cancel)).toMatchObject({
      kind: 'conflict',
      retryable: false,
    });
  });

  test('a 409 with Retry-After to a command means that its first call, whose answer was lost, still runs', async () => {
    answering({ status: 409, headers: { 'retry-after': '2' } });
    const pause = client().call(
      'pauseBulkCreate',
      { params: { requestId: 'r' } },
      { idempotencyKey: 'k' },
    );
    expect(await failureOf(pause)).toMatchObject({
      kind: 'conflict',
      retryable: true,
      retryAfterMs: 2_000,
    });
  });

  test('the wait that the exchange asks for is kept, in seconds or as a date, within an hour', async () => {
    answering({ status: 429, headers: { 'retry-after': '7' } });
    expect(await failureOf(start())).toMatchObject({
      kind: 'rate-limited',
      retryAfterMs: 7_000,
    });
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(boundedRetryAfterMs('Thu, 01 Jan 2026 00:00:30 GMT', now)).toBe(
      30_000,
    );
    expect(boundedRetryAfterMs('Wed, 31 Dec 2025 00:00:30 GMT', now)).toBe(0);
    expect(boundedRetryAfterMs('999999', now)).toBe(3_600_000);
    expect(boundedRetryAfterMs('soon', now)).toBeUndefined();
  });

  describe.each([['cut'], ['half'], ['silence']] as const)(
    'a POST whose connection ends in %s',
    (answer) => {
      test('is ambiguous, and may be repeated under its idempotency key', async () => {
        answering(answer);
        expect(await failureOf(start({ timeoutMs: 300 }))).toMatchObject({
          kind: 'ambiguous',
          retryable: true,
        });
      });

      test('is ambiguous, and not repeated, where no keys are honoured', async () => {
        answering(answer);
        const failure = await failureOf(
          start({ timeoutMs: 300, idempotency: false }),
        );
        expect(failure).toMatchObject({ kind: 'ambiguous', retryable: false });
        expect(failure.message).toContain(
          'it is unknown whether the call took effect',
        );
      });
    },
  );

  test('a POST answered 500, 502 or 504 without keys is ambiguous too; 503 was not carried out', async () => {
    for (const status of [500, 502, 504]) {
      answering({ status });
      expect(await failureOf(start({ idempotency: false }))).toMatchObject({
        kind: 'ambiguous',
        retryable: false,
      });
    }
    answering({ status: 503 });
    expect(await failureOf(start({ idempotency: false }))).toMatchObject({
      kind: 'unavailable',
      retryable: true,
    });
  });

  test('a refused connection means that nothing was sent, so any request may be repeated', async () => {
    const gone = await startStub();
    await gone.close();
    const failure = await failureOf(
      start({ baseUrl: gone.url, idempotency: false }),
    );
    expect(failure).toMatchObject({ kind: 'unavailable', retryable: true });
    expect(failure.message).toBe('startNetworkQuery: no answer (ECONNREFUSED)');
  });

  test('adding to cohorts twice does no harm, so it may be repeated without a key', async () => {
    answering('cut');
    const call = client({ idempotency: false }).call('addPatientToCohorts', {
      params: { id: 'p' },
      body: { cohortIds: ['c'] },
    });
    expect(await failureOf(call)).toMatchObject({ retryable: true });
  });
});

describe('what a failure says', () => {
  test('are names and paths of the error body, never its values', async () => {
    answering({
      status: 400,
      body: {
        name: 'BAD_REQUEST',
        title: 'Missing or invalid parameters',
        detail: 'zip: "2110" of Jane Smith',
        errors: [
          { path: 'address.0.zip', message: '"2110" has 4 digits' },
          { path: ['contact', 0, 'phone'], message: 'x' },
          { path: 'Jane Smith 1990', message: 'x' },
        ],
      },
    });
    expect((await failureOf(start())).message).toBe(
      'startNetworkQuery: 400 BAD_REQUEST "Missing or invalid parameters" (address.0.zip, contact.0.phone)',
    );
  });

  test.each([
    ['Jane Smith was born 1990-01-01'],
    [{ name: 'Jane Smith', title: 'Patient 123-45-6789 unknown' }],
    [{ errors: 'Jane' }],
    [{ errors: [null, 'Jane', { path: 7 }] }],
    [null],
  ])(
    'of an error body of any shape it takes nothing that is not a constant (%#)',
    async (body) => {
      answering({ status: 404, body });
      expect((await failureOf(start())).message).toBe('startNetworkQuery: 404');
    },
  );
});

describe('credentials', () => {
  const accountId = '7b75d972-ae51-4563-993d-6e4adc3047ff';
  const key = 'internal-token-key-of-the-tests';

  test('an account at our own exchange is a token of one minute for that account', async () => {
    const header = await createCredentials({ internalTokenKey: key })(
      accountAccess(accountId),
    );
    expect(header.name).toBe('authorization');
    const { payload } = await jwtVerify(
      header.value.replace('Bearer ', ''),
      new TextEncoder().encode(key),
      {
        audience: 'exchange-internal',
      },
    );
    expect(payload.sub).toBe(accountId);
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60);
  });

  test('another exchange gets its own key, and only that', async () => {
    const credentials = createCredentials({ apiKey: 'foreign' });
    expect(await credentials(API_KEY_ACCESS)).toEqual({
      name: 'x-api-key',
      value: 'foreign',
    });
    await expect(credentials(accountAccess(accountId))).rejects.toThrow(
      'INTERNAL_TOKEN_KEY is not set',
    );
  });

  test('a reference that names no account is refused', async () => {
    const credentials = createCredentials({
      internalTokenKey: key,
      apiKey: 'foreign',
    });
    await expect(
      credentials({ credentialRef: 'account/../x' }),
    ).rejects.toThrow('neither the API key nor an account');
  });

  test('the configuration names one, or says what is missing', () => {
    expect(configuredAccess({ EXCHANGE_ACCOUNT_ID: accountId })).toEqual(
      accountAccess(accountId),
    );
    expect(
      configuredAccess({
        EXCHANGE_API_KEY: 'k',
        EXCHANGE_ACCOUNT_ID: accountId,
      }),
    ).toEqual(API_KEY_ACCESS);
    expect(() => configuredAccess({})).toThrow('EXCHANGE_ACCOUNT_ID');
  });
});

test('calls leave no listener on a signal that lives longer than they', async () => {
  stub.answer = () => ({ status: 200, body: QUERY });
  const { signal } = new AbortController();
  for (let count = 0; count < 3; count += 1)
    await client().call(
      'getNetworkQuery',
      { params: { requestId: 'request-1' } },
      { signal },
    );
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
