import { decodeJwt, SignJWT } from 'jose';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import type { Scope } from '../../src/contract/scope.ts';
import {
  insertApiKey,
  revokeApiKey,
} from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import { EMBED_OPERATIONS } from '../../src/exchange/access/authentication/scope-check.ts';
import { signEmbedToken } from '../../src/exchange/access/embed-tokens/embed-token.ts';
import { revokeEmbedToken } from '../../src/exchange/access/embed-tokens/token-store.ts';
import {
  createTestGateway,
  newPerson,
  TEST_INTERNAL_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
let patientId: string;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  patientId = (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    )
  ).json().id;
});
afterAll(() => gateway.close());

async function addKey(scopes: Scope[] = ['read']) {
  const id = uuidv7();
  const apiKey = generateApiKey();
  const parts = parseApiKey(apiKey);
  if (parts === undefined) throw new Error('not a key');
  await gateway.store.asSystem((tx) =>
    insertApiKey(tx, { id, accountId: account.accountId, ...parts, scopes }),
  );
  return { id, apiKey };
}
const create = (body?: unknown, headers?: Record<string, string>) =>
  account.call('POST', 'token/embed', body, headers);
const tokenOf = async (...args: Parameters<typeof create>): Promise<string> =>
  (await create(...args)).json().token;
const withToken = (
  token: string,
  url = `/medical/v1/patient/${patientId}`,
  method: 'GET' | 'POST' = 'GET',
) =>
  gateway.app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${token}` },
  });

describe('create embed token (E1)', () => {
  test('gives a token for ten hours when nothing is said, or for the time asked for', async () => {
    for (const [body, seconds] of [
      [undefined, 36_000],
      [{}, 36_000],
      [{ expirationInSeconds: 36_000 }, 36_000],
      [{ expirationInSeconds: 60 }, 60],
    ] as const) {
      const answer = await create(body);
      expect([answer.statusCode, Object.keys(answer.json())]).toEqual([
        200,
        ['token'],
      ]);
      expect(answer.headers['cache-control']).toBe('no-store');
      const { exp = 0, iat = 0, aud, sub } = decodeJwt(answer.json().token);
      expect(Math.abs(exp - iat - seconds)).toBeLessThanOrEqual(1);
      expect([aud, sub]).toEqual(['embed', account.accountId]);
    }
  });

  test('takes an empty body that says it is JSON', async () => {
    const answer = await gateway.app.inject({
      method: 'POST',
      url: '/medical/v1/token/embed',
      headers: {
        'x-api-key': account.apiKey,
        'content-type': 'application/json',
      },
    });
    expect(answer.statusCode).toBe(200);
  });

  test.each([36_001, 0, -1, 1.5, '60', null, true])(
    'refuses %j seconds with 400',
    async (seconds) => {
      const answer = await create({ expirationInSeconds: seconds });
      expect([answer.statusCode, answer.json().errors[0].path]).toEqual([
        400,
        'expirationInSeconds',
      ]);
    },
  );

  test('gives the same token again under the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'embed-1' };
    expect(await tokenOf({}, headers)).toBe(await tokenOf({}, headers));
    expect((await create({ expirationInSeconds: 5 }, headers)).statusCode).toBe(
      422,
    );
  });

  test('stands nowhere in the database, though it is given again', async () => {
    const token = await tokenOf({}, { 'idempotency-key': 'embed-2' });
    const { rows } = await gateway.store.asSystem((tx) =>
      sql<{
        row: string;
      }>`select k::text as row from idempotency_key k`.execute(tx.db),
    );
    expect(rows.map(({ row }) => row).join()).toContain('sealed');
    expect(rows.map(({ row }) => row).join()).not.toContain(
      token.split('.')[1],
    );
  });

  test('is for keys that may read: not for others, an embed token, or our own orchestrator', async () => {
    const writer = await addKey(['write']);
    expect((await create({}, { 'x-api-key': writer.apiKey })).statusCode).toBe(
      403,
    );
    const again = await withToken(
      await tokenOf(),
      '/medical/v1/token/embed',
      'POST',
    );
    expect(again.statusCode).toBe(403);
    const internal = await new SignJWT({})
      .setProtectedHeader({ alg: 'HS256' })
      .setAudience('exchange-internal')
      .setSubject(account.accountId)
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(TEST_INTERNAL_KEY));
    expect(
      (await withToken(internal, '/medical/v1/token/embed', 'POST')).statusCode,
    ).toBe(403);
  });

  test('is audited by the id of the token; the token itself is never shown', async () => {
    const token = await tokenOf();
    const { jti = '' } = decodeJwt(token);
    const entry = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .selectAll()
        .where('target_id', '=', jti)
        .where('operation', '=', 'createEmbedToken')
        .executeTakeFirstOrThrow(),
    );
    expect(entry.actor).toMatch(/^key:/);
    expect(JSON.stringify(entry)).not.toContain(token);
    expect(gateway.logLines.join('')).not.toContain(token);
  });
});

describe('an embed token', () => {
  test('reads what the page shows, and is refused by every other operation', async () => {
    const token = await tokenOf();
    await Promise.all(
      Object.entries(endpoints).map(async ([name, { method, path }]) => {
        const url = path.replaceAll(/:\w+/g, patientId);
        const headers = { authorization: `Bearer ${token}` };
        const answer = await gateway.app.inject({ method, url, headers });
        if (EMBED_OPERATIONS.has(name))
          expect([200, 400], name).toContain(answer.statusCode);
        else
          expect([answer.statusCode, answer.json().name], name).toEqual([
            403,
            'FORBIDDEN',
          ]);
      }),
    );
  });

  test('finds nothing of another account', async () => {
    const stranger = await gateway.addAccount();
    const theirs = (await stranger.call('POST', 'token/embed')).json().token;
    expect((await withToken(theirs)).statusCode).toBe(404);
  });

  test('dies at once with the key that made it, and no other does', async () => {
    const old = await addKey();
    const other = await addKey();
    const token = await tokenOf({}, { 'x-api-key': old.apiKey });
    const sibling = await tokenOf({}, { 'x-api-key': other.apiKey });
    expect((await withToken(token)).statusCode).toBe(200);
    await gateway.store.asSystem((tx) => revokeApiKey(tx, old.id));
    expect((await withToken(token)).statusCode).toBe(401);
    expect((await withToken(sibling)).statusCode).toBe(200);
  });

  test('can be revoked alone', async () => {
    const token = await tokenOf();
    const sibling = await tokenOf();
    const { jti = '', exp = 0 } = decodeJwt(token);
    const revoke = () =>
      gateway.store.asSystem((tx) =>
        revokeEmbedToken(tx, {
          tokenId: jti,
          accountId: account.accountId,
          expiresAt: new Date(exp * 1000),
        }),
      );
    expect([await revoke(), await revoke()]).toEqual([true, false]);
    expect((await withToken(token)).statusCode).toBe(401);
    expect((await withToken(sibling)).statusCode).toBe(200);
  });

  test.each([
    [
      'that has expired',
      { expiresAt: new Date(Date.now() - 2_000) },
      TEST_INTERNAL_KEY,
    ],
    ['signed with another key', {}, 'another-key-another-key-another'],
    ['of a key that is none', { keyId: uuidv7() }, TEST_INTERNAL_KEY],
    [
      'of another account than its key',
      { accountId: uuidv7() },
      TEST_INTERNAL_KEY,
    ],
  ])('%s is refused with 401', async (_what, changes, signingKey) => {
    const { id: keyId } = await addKey();
    const token = await signEmbedToken(signingKey, {
      tokenId: uuidv7(),
      accountId: account.accountId,
      keyId,
      expiresAt: new Date(Date.now() + 60_000),
      ...changes,
    });
    const answer = await withToken(token);
    expect([answer.statusCode, answer.json().detail]).toEqual([
      401,
      'The bearer token is invalid or has expired',
    ]);
  });

  test('changed in any part is refused with 401', async () => {
    const [head, claims, signature] = (await tokenOf()).split('.');
    const forged = Buffer.from(
      JSON.stringify({
        ...decodeJwt(`${head}.${claims}.${signature}`),
        exp: 9_999_999_999,
      }),
    );
    expect(
      (await withToken(`${head}.${forged.toString('base64url')}.${signature}`))
        .statusCode,
    ).toBe(401);
    expect((await withToken(`${head}.${claims}.`)).statusCode).toBe(401);
  });
});
