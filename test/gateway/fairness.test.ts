import { createHash, randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { Agent, request } from 'undici';
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  test,
  vi,
} from 'vitest';
import { createKeyCheck } from '../../src/exchange/access/accounts/key-check.ts';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import { RefusalBrake } from '../../src/exchange/platform/http/plugins/error-responses.ts';
import { closedGate } from '../support/gate.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

const CONNECTIONS = 120;
const UNDER_WAY_MAX = 40;
/** Longer than anything here takes. */
const WAIT_MS = 100_000;
/**
 * So many transactions of a flood may begin while one of another account waits
 * for its own to begin.
 */
const TURNS_MAX = 10;

let gateway: TestGateway;
let baseUrl: string;
let greedy: TestAccount;
let other: TestAccount;
let locker: pg.Client;
let reportPressure: (isUnderPressure: boolean, times: number) => void;
const agent = new Agent({ connections: CONNECTIONS + 50 });

beforeAll(async () => {
  gateway = await createTestGateway({
    // The requests of these tests wait behind a locked row for as long as the
    // test takes, which on a busy machine may be longer than a gateway lets
    // them wait; what is refused then would be missing from what the tests
    // count.
    connectionWaitMs: WAIT_MS,
    accountRequestsMax: UNDER_WAY_MAX,
    watchPressure: (report) => {
      reportPressure = (isUnderPressure, times) => {
        for (let count = 0; count < times; count++) report(isUnderPressure);
      };
      return () => undefined;
    },
  });
  baseUrl = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  greedy = await gateway.addAccount({
    settings: { limits: { requestsPerMinute: 1_000_000 } },
  });
  other = await gateway.addAccount();
  locker = new pg.Client({ connectionString: gateway.databaseUrl });
  await locker.connect();
});
afterAll(async () => {
  await locker.end();
  await agent.destroy();
  await gateway.close();
});
// A test that failed must not leave its lock to the next.
afterEach(() => locker.query('rollback'));

/** The value of a metric of the gateway, by its name and labels. */
async function metric(name: string): Promise<number> {
  const { body } = await gateway.app.inject({ method: 'GET', url: '/metrics' });
  const line = body.split('\n').find((each) =>
    each
      .replaceAll(/,?process="gateway",?/g, '')
      .replace('{}', '')
      .startsWith(`${name} `),
  );
  if (line === undefined) throw new Error(`there is no metric ${name}`);
  return Number(line.slice(line.lastIndexOf(' ') + 1));
}

interface Answer {
  status: number;
  retryAfter: unknown;
  body: Record<string, unknown>;
}

async function send(
  account: TestAccount | undefined,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  const answer = await request(`${baseUrl}${path}`, {
    dispatcher: agent,
    method,
    signal,
    headers: {
      ...(account && { 'x-api-key': account.apiKey }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return {
    status: answer.statusCode,
    retryAfter: answer.headers['retry-after'],
    body: (await answer.body.json()) as Record<string, unknown>,
  };
}

const create = (account: TestAccount) =>
  send(
    account,
    'POST',
    `/medical/v1/patient?facilityId=${account.facilityId}`,
    newPerson(),
  );
const listed = async (account: TestAccount): Promise<number> => {
  const { meta } = (await send(account, 'GET', '/medical/v1/patient?count=1'))
    .body;
  return (meta as { itemsInTotal: number }).itemsInTotal;
};

/** Holds the row until it is released: whatever changes it, takes as long. */
async function lockPatient(id: unknown): Promise<() => Promise<unknown>> {
  await locker.query('begin');
  await locker.query('select 1 from patient where id = $1 for update', [id]);
  return () => locker.query('rollback');
}

async function waitingForLocks(): Promise<number> {
  // In a transaction PostgreSQL shows what it saw at the first look.
  await locker.query('select pg_stat_clear_snapshot()');
  const { rows } = await locker.query(
    "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
  );
  return rows[0].n;
}

describe('an account that sends more than can be served', () => {
  test('takes nothing from another account, and loses nothing that was accepted', async () => {
    const shedBefore = await metric('requests_shed_total{reason="account"}');
    const person = newPerson();
    const url = `/medical/v1/patient?facilityId=${greedy.facilityId}`;
    const { id } = (await send(greedy, 'POST', url, person)).body;
    const release = await lockPatient(id);

    const flood = Array.from({ length: CONNECTIONS }, (_, index) =>
      index % 3 === 0
        ? send(
            greedy,
            'PUT',
            `/medical/v1/patient/${id}?facilityId=${greedy.facilityId}`,
            person,
          )
        : create(greedy),
    );
    // Those that are refused come at once; all others wait behind the locked
    // row.
    await Promise.race(flood);

    const others = await Promise.all([
      ...Array.from({ length: 20 }, () => create(other)),
      send(undefined, 'GET', '/ready'),
      send(undefined, 'GET', '/health'),
    ]);
    expect(others.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 20 }, () => 201),
      200,
      200,
    ]);

    await release();
    const answers = await Promise.all(flood);
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { retryAfter, body } of refused) {
      expect(retryAfter).toBe('1');
      expect(body).toMatchObject({ status: 503, name: 'SERVICE_UNAVAILABLE' });
    }
    expect([...new Set(answers.map(({ status }) => status))].sort()).toEqual([
      200, 201, 503,
    ]);
    expect(await metric('requests_shed_total{reason="account"}')).toBe(
      shedBefore + refused.length,
    );
    expect(await metric('requests_shed_total{reason="gateway"}')).toBe(0);
    const created = answers.filter(({ status }) => status === 201).length;
    expect(await listed(greedy)).toBe(created + 1);
    expect(await listed(other)).toBe(20);
  });

  test('lets each transaction of another account begin after a few of its own, and refuses none of them', async () => {
    const inTurn = gateway.store.asAccount;
    let begun = 0;
    const begunMeanwhile: number[] = [];
    const watched = vi
      .spyOn(gateway.store, 'asAccount')
      .mockImplementation((accountId, work) => {
        const before = begun;
        return inTurn(accountId, (tx) => {
          if (accountId === greedy.accountId) begun += 1;
          if (accountId === other.accountId)
            begunMeanwhile.push(begun - before);
          return work(tx);
        });
      });
    const before = { greedy: await listed(greedy), other: await listed(other) };
    let isOver = false;
    const accepted = { greedy: 0, other: 0 };
    const refused = new Set<number>();
    const flood = Array.from({ length: UNDER_WAY_MAX }, async () => {
      while (!isOver) {
        const { status } = await create(greedy);
        if (status === 201) accepted.greedy += 1;
        else refused.add(status);
      }
    });
    await expect
      .poll(() => accepted.greedy, { timeout: WAIT_MS })
      .toBeGreaterThan(10);
    begunMeanwhile.length = 0;
    for (; accepted.other < 5; accepted.other += 1)
      expect(await create(other)).toMatchObject({ status: 201 });
    isOver = true;
    await Promise.all(flood);
    watched.mockRestore();
    expect(begunMeanwhile.length).toBeGreaterThanOrEqual(5);
    expect(Math.max(...begunMeanwhile)).toBeLessThanOrEqual(TURNS_MAX);
    expect([...refused].filter((status) => status !== 503)).toEqual([]);
    expect(await listed(greedy)).toBe(before.greedy + accepted.greedy);
    expect(await listed(other)).toBe(before.other + accepted.other);
  });

  test('keeps the places of requests it hung up on until their work is done, and then has them all again', async () => {
    const { requestShares } = gateway.app;
    const { id } = (await create(greedy)).body;
    const release = await lockPatient(id);
    const impatient = new AbortController();
    const path = `/medical/v1/patient/${id}?facilityId=${greedy.facilityId}`;
    const hungUp = Array.from({ length: 5 }, () =>
      send(greedy, 'PUT', path, newPerson(), impatient.signal).catch(
        () => 'hung up',
      ),
    );
    await expect
      .poll(() => requestShares.underWay(greedy.accountId), {
        timeout: WAIT_MS,
      })
      .toBe(5);
    await expect.poll(waitingForLocks, { timeout: WAIT_MS }).toBe(5);
    impatient.abort();
    expect(new Set(await Promise.all(hungUp))).toEqual(new Set(['hung up']));
    // The gateway notices it before it answers this one.
    expect((await send(undefined, 'GET', '/health')).status).toBe(200);
    expect(requestShares.underWay(greedy.accountId)).toBe(5);
    await release();
    await expect
      .poll(() => requestShares.underWay(greedy.accountId), {
        timeout: WAIT_MS,
      })
      .toBe(0);
    const further = await Promise.all(
      Array.from({ length: UNDER_WAY_MAX }, () => create(greedy)),
    );
    expect(new Set(further.map(({ status }) => status))).toEqual(
      new Set([201]),
    );
    expect(requestShares.underWay(greedy.accountId)).toBe(0);
  });
});

describe('a gateway that cannot keep up', () => {
  test('refuses the account with most requests before its key is looked up, serves the others, and recovers', async () => {
    const { requestShares } = gateway.app;
    const { id } = (await create(greedy)).body;
    const release = await lockPatient(id);
    const path = `/medical/v1/patient/${id}?facilityId=${greedy.facilityId}`;
    const waiting = Array.from({ length: 30 }, () =>
      send(greedy, 'PUT', path, newPerson()),
    );
    await expect
      .poll(() => requestShares.underWay(greedy.accountId), {
        timeout: WAIT_MS,
      })
      .toBe(30);
    reportPressure(true, 50);

    const lookUps = vi.spyOn(gateway.store, 'call');
    const refused = await create(greedy);
    expect(refused).toMatchObject({
      status: 503,
      retryAfter: '1',
      body: { name: 'SERVICE_UNAVAILABLE' },
    });
    expect(String(refused.body.detail)).toContain('The gateway is overloaded');
    expect(await metric('requests_shed_total{reason="gateway"}')).toBe(1);
    expect(await metric('requests_in_progress')).toBe(30);
    expect(lookUps).not.toHaveBeenCalled();
    lookUps.mockRestore();
    const others = await Promise.all([
      create(other),
      create(other),
      create(other),
      send(undefined, 'GET', '/health'),
    ]);
    expect(others.map(({ status }) => status)).toEqual([201, 201, 201, 200]);

    reportPressure(false, 300);
    expect(requestShares.refusal(greedy.accountId)).toBeUndefined();
    await release();
    expect(
      new Set((await Promise.all(waiting)).map(({ status }) => status)),
    ).toEqual(new Set([200]));
  });
});

describe('strangers that try keys', () => {
  test('keep no key waiting that was good before', async () => {
    const gate = closedGate();
    const hashOf = (key: string) => createHash('sha256').update(key).digest();
    const good = hashOf(other.apiKey);
    let isFlooded = false;
    const slowForStrangers: Parameters<typeof createKeyCheck>[0] = {
      ...gateway.store,
      call: async (statement) => {
        const rows = await gateway.store.call(statement);
        if (isFlooded && rows.length === 0) await gate.passed;
        return rows;
      },
    };
    const keys = createKeyCheck(slowForStrangers);
    expect((await keys.byHash(good))?.state).toBe('good');
    isFlooded = true;
    const tried = Array.from({ length: 1_500 }, () =>
      keys.byHash(randomBytes(32)),
    );
    const ends = Promise.allSettled(tried);
    expect((await keys.byHash(good))?.state).toBe('good');
    gate.open();
    const refused = (await ends).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]).toMatchObject({ reason: { status: 503 } });
    expect(await keys.byHash(hashOf(generateApiKey()))).toBeUndefined();
  });

  test('have one connection for all that they look up, and many look-ups in one statement', async () => {
    let atOnce = 0;
    let atOnceMost = 0;
    const counted =
      <Args extends unknown[], R>(ask: (...args: Args) => Promise<R>) =>
      async (...args: Args) => {
        atOnce += 1;
        atOnceMost = Math.max(atOnceMost, atOnce);
        return ask(...args).finally(() => {
          atOnce -= 1;
        });
      };
    const { asSystem, call } = gateway.store;
    const transactions = vi
      .spyOn(gateway.store, 'asSystem')
      .mockImplementation(counted(asSystem) as typeof asSystem);
    const statements = vi
      .spyOn(gateway.store, 'call')
      .mockImplementation(counted(call) as typeof call);
    const statuses = await Promise.all(
      strangersRequests(20).map(
        async (asked) => (await gateway.app.inject(asked)).statusCode,
      ),
    );
    const lookUps =
      transactions.mock.calls.length + statements.mock.calls.length;
    transactions.mockRestore();
    statements.mockRestore();
    expect(new Set(statuses)).toEqual(new Set([401, 404]));
    expect(atOnceMost).toBe(1);
    expect(lookUps).toBeLessThan(statuses.length / 4);
  });

  test('are slowed down by whatever refuses them', async () => {
    const held = vi
      .spyOn(RefusalBrake.prototype, 'hold')
      .mockResolvedValue(undefined);
    const requests = [
      ...strangersRequests(1),
      { url: '/nowhere' },
      { url: `/links/document/${randomBytes(20).toString('hex')}` },
      { method: 'POST' as const, url: '/sources/callback/x', payload: {} },
      { method: 'POST' as const, url: '/identity/callback', payload: {} },
      { method: 'POST' as const, url: '/shl/x', payload: {} },
    ];
    for (const asked of requests) await gateway.app.inject(asked);
    expect(held.mock.calls).toEqual(requests.map(() => ['strangers']));
    held.mockRestore();
  });
});

const part = (value: object) =>
  Buffer.from(JSON.stringify(value)).toString('base64url');

/** Of each kind of look-up so many: a link, a page, a client and a key. */
const strangersRequests = (times: number) =>
  Array.from({ length: times }, () => {
    const secret = randomBytes(32).toString('base64url');
    const id = randomUUID();
    const client_assertion = `${part({ alg: 'ES384' })}.${part({ sub: id })}.a`;
    return [
      {
        method: 'POST' as const,
        url: `/shl/${secret}`,
        payload: { recipient: 'R' },
      },
      { url: `/embed/${id}/patient/${id}` },
      {
        method: 'POST' as const,
        url: '/fhir/R4/auth/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({
          grant_type: 'client_credentials',
          client_assertion_type:
            'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion,
        }).toString(),
      },
      {
        url: '/medical/v1/facility',
        headers: { 'x-api-key': generateApiKey() },
      },
    ];
  }).flat();
