import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scope } from '../../src/contract/scope.ts';
import {
  insertApiKey,
  listApiKeys,
  revokeApiKey,
} from '../../src/exchange/access/accounts/api-key-store.ts';
import { createKeyCheck } from '../../src/exchange/access/accounts/key-check.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import {
  createTestGateway,
  newPerson,
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

async function addKey(options: { scopes?: Scope[]; expiresAt?: Date } = {}) {
  const id = uuidv7();
  const apiKey = generateApiKey();
  const parts = parseApiKey(apiKey);
  if (parts === undefined) throw new Error('not a key');
  await gateway.store.asSystem((tx) =>
    insertApiKey(tx, {
      id,
      accountId: account.accountId,
      ...parts,
      ...options,
    }),
  );
  return {
    id,
    apiKey,
    call: (
      method: 'GET' | 'POST' | 'PUT' | 'DELETE',
      url: string,
      body?: unknown,
    ) => account.call(method, url, body, { 'x-api-key': apiKey }),
  };
}
const statusOf = async (answer: Promise<{ statusCode: number }>) =>
  (await answer).statusCode;

describe('a key', () => {
  test('that is revoked is refused by every gateway with the next request, its siblings go on', async () => {
    const old = await addKey();
    const successor = await addKey();
    const second = await createTestGateway({ store: gateway.store });
    const elsewhere = () =>
      second.app.inject({
        url: '/medical/v1/facility',
        headers: { 'x-api-key': old.apiKey },
      });
    const byId = () => createKeyCheck(gateway.store).byId(old.id);
    expect(await statusOf(old.call('GET', 'facility'))).toBe(200);
    expect(await statusOf(elsewhere())).toBe(200);
    expect((await byId())?.account.id).toBe(account.accountId);
    expect(await gateway.store.asSystem((tx) => revokeApiKey(tx, old.id))).toBe(
      true,
    );
    expect(await statusOf(old.call('GET', 'facility'))).toBe(401);
    expect(await statusOf(elsewhere())).toBe(401);
    expect(await byId()).toBeUndefined();
    expect(await statusOf(successor.call('GET', 'facility'))).toBe(200);
    expect(await gateway.store.asSystem((tx) => revokeApiKey(tx, old.id))).toBe(
      false,
    );
    await second.app.close();
  });

  test('is good until it expires', async () => {
    const past = await addKey({ expiresAt: new Date(Date.now() - 1_000) });
    const future = await addKey({ expiresAt: new Date(Date.now() + 60_000) });
    expect(await statusOf(past.call('GET', 'facility'))).toBe(401);
    expect(await statusOf(future.call('GET', 'facility'))).toBe(200);
  });

  test('has its use noted, but not with every request', async () => {
    const key = await addKey();
    const lastUse = async () =>
      (
        await gateway.store.asSystem((tx) => listApiKeys(tx, account.accountId))
      ).find(({ id }) => id === key.id)?.lastUsedAt;
    expect(await lastUse()).toBeNull();
    await key.call('GET', 'facility');
    const noted = await lastUse();
    expect(noted).toBeInstanceOf(Date);
    await key.call('GET', 'facility');
    expect(await lastUse()).toEqual(noted);
  });

  test('cannot be made by an account itself', async () => {
    const make = gateway.store.asAccount(account.accountId, (tx) =>
      sql`insert into api_key (id, account_id, prefix, hash) values (${uuidv7()}, ${account.accountId}, 'mdx_x', '\\x00')`.execute(
        tx.db,
      ),
    );
    await expect(make).rejects.toMatchObject({ code: '42501' });
  });
});

describe('the scopes of a key', () => {
  test.each<[Scope, 'GET' | 'POST' | 'DELETE', string, unknown, number]>([
    ['read', 'GET', 'facility', undefined, 200],
    ['read', 'POST', 'patient/match', newPerson(), 404],
    ['read', 'POST', 'cohort', { name: 'Not by this key' }, 403],
    ['read', 'GET', 'settings', undefined, 403],
    ['write', 'POST', 'cohort', { name: 'By this key' }, 201],
    ['write', 'GET', 'facility', undefined, 403],
    [
      'write',
      'POST',
      'settings',
      { webhookUrl: 'https://hooks.example.org/x' },
      403,
    ],
    ['webhooks-admin', 'GET', 'settings', undefined, 200],
    ['webhooks-admin', 'GET', 'facility', undefined, 403],
  ])('%s: %s %s', async (scope, method, url, body, expected) => {
    const key = await addKey({ scopes: [scope] });
    expect(await statusOf(key.call(method as 'GET', url, body))).toBe(expected);
  });

  test('are named in the refusal, which is audited', async () => {
    const key = await addKey({ scopes: ['read', 'webhooks-admin'] });
    const answer = await key.call('PUT', `patient/${uuidv7()}`, newPerson());
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({
      name: 'FORBIDDEN',
      detail:
        'This operation requires an API key with the scope write; your key has: read, webhooks-admin',
    });
    const entries = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .selectAll()
        .where('actor', '=', `key:${key.id}`)
        .execute(),
    );
    expect(entries).toMatchObject([{ outcome: '403' }]);
  });
});
