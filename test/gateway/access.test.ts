import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import {
  findKeysByHash,
  revokeApiKey,
} from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import {
  createTestGateway,
  newPerson,
  TEST_INTERNAL_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const call = (headers: Record<string, string>, url = '/medical/v1/facility') =>
  gateway.app.inject({ method: 'GET', url, headers });

describe('a request without a valid key', () => {
  test('gets 401 with a challenge from every operation, before its request is looked at', async () => {
    for (const { method, path } of Object.values(endpoints)) {
      const url = path.replaceAll(/:\w+/g, 'x');
      const answer = await gateway.app.inject({
        method,
        url,
        headers: { 'x-api-key': generateApiKey() },
      });
      expect([answer.statusCode, answer.json().name], path).toEqual([
        401,
        'UNAUTHORIZED',
      ]);
      expect(answer.headers['www-authenticate']).toMatch(/^ApiKey .*, Bearer /);
    }
  });

  test('learns whether the key is missing or wrong, and nothing else', async () => {
    expect((await call({})).json().detail).toContain('x-api-key');
    expect((await call({ 'x-api-key': 'mdx_nonsense' })).json().detail).toBe(
      'The API key is not valid',
    );
    expect((await call({ 'x-api-key': `${account.apiKey}x` })).statusCode).toBe(
      401,
    );
  });

  test('is refused with a key that was revoked', async () => {
    const other = await gateway.addAccount();
    const hash = parseApiKey(other.apiKey)?.hash ?? Buffer.alloc(0);
    const holder = (await findKeysByHash(gateway.store, [hash])).get(
      hash.toString('hex'),
    );
    await gateway.store.asSystem((tx) => revokeApiKey(tx, holder?.keyId ?? ''));
    expect((await other.call('GET', 'facility')).statusCode).toBe(401);
  });
});

describe('an internal token', () => {
  const token = (
    claims: { aud?: string; sub?: string; expires?: string },
    key = TEST_INTERNAL_KEY,
  ) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'HS256' })
      .setAudience(claims.aud ?? 'exchange-internal')
      .setSubject(claims.sub ?? account.accountId)
      .setExpirationTime(claims.expires ?? '5m')
      .sign(new TextEncoder().encode(key));

  test('acts for its account', async () => {
    const answer = await call({ authorization: `Bearer ${await token({})}` });
    expect(answer.json().facilities[0].id).toBe(account.facilityId);
  });

  test.each([
    ['of another audience', () => token({ aud: 'embed' })],
    ['that has expired', () => token({ expires: '-1m' })],
    [
      'of an account that is none',
      () => token({ sub: '0198a000-0000-7000-8000-000000000000' }),
    ],
    [
      'signed with another key',
      () => token({}, 'another-key-another-key-another'),
    ],
    [
      'without a signature',
      async () => `${(await token({})).split('.').slice(0, 2).join('.')}.`,
    ],
  ])('%s is refused', async (_what, make) => {
    expect(
      (await call({ authorization: `Bearer ${await make()}` })).statusCode,
    ).toBe(401);
  });
});

describe('the limit of requests per minute', () => {
  test('is counted over all gateways, shown in headers, and enforced with 429 and Retry-After', async () => {
    const limited = await gateway.addAccount({
      settings: { limits: { requestsPerMinute: 3 } },
    });
    const statuses: number[] = [];
    for (let request = 0; request < 4; request += 1) {
      statuses.push((await limited.call('GET', 'facility')).statusCode);
    }
    // The minute may turn over in between; then the count starts anew, and
    // never allows more than the limit.
    if (statuses.at(-1) === 200) return;
    expect(statuses).toEqual([200, 200, 200, 429]);
    const refused = await limited.call('GET', 'facility');
    expect(refused.json().name).toBe('TOO_MANY_REQUESTS');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.headers['ratelimit-policy']).toBe('"requests";q=3;w=60');
    expect(refused.headers.ratelimit).toMatch(/^"requests";r=0;t=\d+$/);
    expect((await account.call('GET', 'facility')).statusCode).toBe(200);
  });
});

describe('several gateways', () => {
  test('together never allow more than the limit', async () => {
    const limited = await gateway.addAccount({
      settings: { limits: { requestsPerMinute: 100 } },
    });
    const second = await createTestGateway({ store: gateway.store });
    const headers = { 'x-api-key': limited.apiKey };
    const minuteOf = () => Math.floor(Date.now() / 60_000);
    const before = minuteOf();
    const answers = await Promise.all(
      Array.from({ length: 160 }, (_, index) =>
        (index % 2 === 0 ? gateway : second).app.inject({
          url: '/medical/v1/facility',
          headers,
        }),
      ),
    );
    const allowed = answers.filter(
      ({ statusCode }) => statusCode === 200,
    ).length;
    const minutes = minuteOf() - before + 1;
    expect(allowed).toBeLessThanOrEqual(100 * minutes);
    expect(allowed).toBeGreaterThanOrEqual(95);
    await second.app.close();
  });
});

describe('another account', () => {
  test('may have the same person as a patient of its own', async () => {
    const person = newPerson();
    const stranger = await gateway.addAccount();
    const ours = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      person,
    );
    const theirs = await stranger.call(
      'POST',
      `patient?facilityId=${stranger.facilityId}`,
      person,
    );
    expect([ours.statusCode, theirs.statusCode]).toEqual([201, 201]);
    expect(ours.json().id).not.toBe(theirs.json().id);
  });
});
