import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import {
  type Endpoint,
  errorStatusesOf,
} from '../../../src/contract/endpoint.ts';
import {
  type EndpointName,
  endpoints,
} from '../../../src/contract/endpoints.ts';
import { SCOPES, scopeOf } from '../../../src/contract/scope.ts';
import { type AccountContent, openAccountContent } from './account-content.ts';
import { describeAliases } from './aliases.ts';
import { ALL_CASES } from './all-cases.ts';
import { generatedCases } from './generated-cases.ts';
import { describeLists } from './lists.ts';
import { oddRequests } from './odd-requests.ts';
import type { OperationCases, Sent } from './operation-cases.ts';
import { describeSteeringInPublished } from './published.ts';
import { expectGood, expectRefused, send } from './requests.ts';
import { createWorld, type World } from './world.ts';

let world: World;
let content: AccountContent;
beforeAll(async () => {
  world = await createWorld();
  content = await openAccountContent(world.databaseUrl);
});
afterAll(async () => {
  await content.close();
  await world.close();
});

const names = Object.keys(endpoints) as EndpointName[];
const casesOf = (name: EndpointName): OperationCases => ALL_CASES[name];
const rowOf = (name: EndpointName): Endpoint => endpoints[name];

/** What a running workflow is asked to do while the caller waits. */
const STEERING =
  /^(giveUpSource|cancelNetworkQuery|(pause|resume|cancel)(BulkCreate|QuerySweep))$/;

/** Every status that an operation was seen to answer. */
const seen = new Map<EndpointName, Set<number>>(
  names.map((name) => [name, new Set<number>()]),
);
async function call(name: EndpointName, sent: Sent) {
  const answer = await send(world, name, sent);
  seen.get(name)?.add(answer.statusCode);
  return answer;
}
const withHeaders = (sent: Sent, headers: Record<string, string>): Sent => ({
  ...sent,
  headers: { ...sent.headers, ...headers },
});

describe.each(names)('%s', (name) => {
  test('responds as its row in the endpoint table says', async () => {
    const { good, more = [] } = casesOf(name);
    expectGood(name, await call(name, await good(world)));
    for (const { status, send: build, has = {} } of more) {
      const answer = await call(name, await build(world));
      expectGood(name, answer, status);
      if (answer.body !== '') expect(answer.json()).toMatchObject(has);
    }
  });

  test('accepts ids in upper case, a trailing slash, and no body where none is needed', async () => {
    const { good } = casesOf(name);
    const { params = {}, ...sent } = await good(world);
    const shouted = Object.entries(params).map(([key, value]) => [
      key,
      key === 'type' ? value : value.toUpperCase(),
    ]);
    const json = { 'content-type': 'application/json' };
    const asked: Sent = {
      ...sent,
      params: Object.fromEntries(shouted),
      slash: true,
    };
    const answer = await call(name, withHeaders(asked, json));
    expectGood(name, answer);
  });

  test('refuses a caller without the right to ask, before anything else is checked', async () => {
    const { path } = rowOf(name);
    const ids = [...path.matchAll(/:(\w+)/g)].map(([, param]) => [
      param ?? '',
      'x',
    ]);
    const asked: Sent = { params: Object.fromEntries(ids) };
    for (const apiKey of ['', 'wrong']) {
      const answer = await call(
        name,
        withHeaders(asked, { 'x-api-key': apiKey }),
      );
      expectRefused(answer, {
        status: 401,
        message: 'The API key is not valid',
      });
      expect(answer.headers['www-authenticate']).toMatch(/^ApiKey .*, Bearer /);
    }
    const others = SCOPES.filter((scope) => scope !== scopeOf(rowOf(name)));
    for (const scope of others) {
      const answer = await call(
        name,
        withHeaders(asked, { 'x-api-key': world.keys[scope] }),
      );
      expectRefused(answer, {
        status: 403,
        message: `scope ${scopeOf(rowOf(name))}`,
      });
    }
    const limited = await call(
      name,
      withHeaders(asked, { 'x-api-key': world.limited.apiKey }),
    );
    expectRefused(limited, {
      status: 429,
      message: 'Rate limit of 0 requests per minute exceeded',
    });
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    expect(limited.headers['ratelimit-policy']).toBe('"requests";q=0;w=60');
    expect(limited.headers.ratelimit).toMatch(/^"requests";r=0;t=\d+$/);
  });

  test('refuses a request that breaks a rule, names the rule, and stores nothing', async () => {
    const { good, refused = [] } = casesOf(name);
    const sent = await good(world);
    const cases = await Promise.all(
      [...generatedCases(name), ...refused].map(async (one) => ({
        ...one,
        sent: await one.send(world, sent),
      })),
    );
    await world.settled();
    const before = await content.read(world.account.accountId);
    const mistakes: string[] = [];
    for (const { what, sent: wrong, ...expected } of cases) {
      const answer = await call(name, wrong);
      try {
        expectRefused(answer, expected);
      } catch (error) {
        mistakes.push(
          `${name}, ${what}: ${(error as Error).message.slice(0, 900)}`,
        );
      }
    }
    if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
    expect(await content.read(world.account.accountId)).toEqual(before);
  });

  if (rowOf(name).method !== 'GET')
    test('repeats its response for the same Idempotency-Key', async () => {
      const key = { 'idempotency-key': `key of ${name}` };
      const sent = withHeaders(await casesOf(name).good(world), key);
      const first = await call(name, sent);
      expectGood(name, first);
      const again = await call(name, sent);
      expect([again.statusCode, again.headers['idempotent-replayed']]).toEqual([
        first.statusCode,
        'true',
      ]);
      expect(again.payload).toBe(first.payload);
      const other = await call(name, {
        ...sent,
        query: { ...sent.query, other: 'request' },
      });
      expectRefused(other, {
        status: 422,
        message: 'was used for a different request',
      });
      await world.inAccount(({ db }) =>
        db.updateTable('idempotency_key').set({ status: null }).execute(),
      );
      expectRefused(await call(name, sent), {
        status: 409,
        message: 'is still in progress',
      });
      for (const bad of ['', 'k'.repeat(256)]) {
        const answer = await call(
          name,
          withHeaders(sent, { 'idempotency-key': bad }),
        );
        expectRefused(answer, {
          status: 400,
          path: 'idempotency-key',
          message: 'character',
        });
      }
    });

  test('reveals no internals when the database fails', async () => {
    const sent = await casesOf(name).good(world);
    try {
      world.faults.database = new Error(
        'select dob from patient where last_name = Doe',
      );
      const fault = await call(name, sent);
      expectRefused(fault, {
        status: 500,
        message: 'An internal error occurred',
      });
      world.faults.database = Object.assign(new Error('connect'), {
        code: 'ECONNREFUSED',
      });
      const down = await call(name, sent);
      expectRefused(down, { status: 503, message: 'temporarily unavailable' });
      expect(Number(down.headers['retry-after'])).toBeGreaterThan(0);
    } finally {
      world.faults.database = undefined;
    }
  });

  if (STEERING.test(name))
    test('is 503 while the workflow service is unavailable, and can be repeated', async () => {
      const sent = await casesOf(name).good(world);
      world.faults.temporal = new Error('connect temporal.internal:7233');
      const away = await call(name, sent).finally(() => {
        world.faults.temporal = undefined;
      });
      expectRefused(away, {
        status: 503,
        message: 'The workflow service cannot be reached now',
      });
      expect(Number(away.headers['retry-after'])).toBeGreaterThan(0);
      expect(away.body).not.toContain('temporal.internal');
      expectGood(name, await call(name, sent));
    });

  test('has a documented response to any odd value in its request', async () => {
    const row = rowOf(name);
    const documented = [
      ...Object.keys(row.responses).map(Number),
      ...errorStatusesOf(row),
    ];
    const parameters = Object.keys(
      (row.query as z.ZodObject | undefined)?.shape ?? {},
    );
    const sent = await casesOf(name).good(world);
    for (const odd of oddRequests(sent, parameters, names.indexOf(name))) {
      const answer = await call(name, odd);
      const what = JSON.stringify(odd).slice(0, 500);
      expect(documented, what).toContain(answer.statusCode);
      expect(answer.statusCode, what).toBeLessThan(500);
      if (answer.statusCode < 300) expectGood(name, answer, answer.statusCode);
      else expectRefused(answer, { status: answer.statusCode });
    }
  });

  // Judges the responses to all requests of the tests above, so it needs every
  // one of them to have run.
  test('documents every status that it answers, and answers every one that it documents', ({
    skip,
    task,
  }) => {
    const earlier =
      task.suite?.tasks.filter((sibling) => sibling !== task) ?? [];
    skip(
      earlier.some(({ mode }) => mode !== 'run'),
      'the tests of this operation run only together',
    );
    expect(earlier.length).toBeGreaterThan(5);
    const row = rowOf(name);
    const documented = [
      ...Object.keys(row.responses).map(Number),
      ...errorStatusesOf(row),
    ];
    // 431 is answered before a request reaches the application, which these
    // tests call directly (http-edges.test.ts has it).
    const ofApplication = new Set(
      documented.filter((status) => status !== 431),
    );
    expect([...(seen.get(name) ?? [])].sort()).toEqual(
      [...ofApplication].sort(),
    );
  });
});

describeLists(() => world);
describeAliases(() => world);
describeSteeringInPublished(() => world);
