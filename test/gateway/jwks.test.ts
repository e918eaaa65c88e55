import Fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AdminTarget } from '../../src/exchange/operations/admin/command.ts';
import { rotateSigningKeysCommand } from '../../src/exchange/operations/admin/keys.ts';
import { addJwksRoute } from '../../src/exchange/sources/connections/feature.ts';
import { ensureSigningKeys } from '../../src/exchange/sources/connections/signing-keys.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { testKeyRing } from '../support/test-keys.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());

test('our public keys are readable without an API key, and may be cached for five minutes', async () => {
  const read = () => gateway.app.inject('/.well-known/jwks.json');
  await gateway.store.asSystem((tx) => ensureSigningKeys(tx, testKeyRing()));
  const { statusCode, headers, body } = await read();
  expect(statusCode).toBe(200);
  expect(headers['cache-control']).toBe('public, max-age=300');
  const { keys } = JSON.parse(body) as { keys: Record<string, string>[] };
  expect(keys).toHaveLength(2);
  for (const key of keys)
    expect(key).toMatchObject({ use: 'sig', kid: expect.any(String) });
  expect(body).not.toContain('"d"');
});

test('a rotation of our keys is in the audit of every account, with the ids of the new keys', async () => {
  const { store } = gateway;
  const accounts = [await gateway.addAccount(), await gateway.addAccount()];
  const target = {
    store,
    openKeyRing: async () => testKeyRing(),
  } as unknown as AdminTarget;
  const entriesOf = ({ accountId }: { accountId: string }) =>
    store.asSystem((tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select(['actor', 'operation', 'target_id as kid'])
        .where('account_id', '=', accountId)
        .where('operation', 'like', 'rotateSigningKey%')
        .execute(),
    );
  await rotateSigningKeysCommand(target, false);
  const { document } = await rotateSigningKeysCommand(target, true);
  for (const account of accounts) {
    const entries = await entriesOf(account);
    expect(entries.map(({ operation }) => operation).sort()).toEqual(
      ['rotateSigningKey', 'rotateSigningKeyAtOnce'].flatMap((operation) => [
        operation,
        operation,
      ]),
    );
    const published = (document.keys as { kid: string }[]).map(
      ({ kid }) => kid,
    );
    expect(entries.map(({ kid }) => kid)).toEqual(
      expect.arrayContaining(published),
    );
  }
});

test('a flood of readers costs the database one read, and a read that fails is repeated', async () => {
  let reads = 0;
  const asSystem = async () => {
    reads += 1;
    if (reads === 1) throw new Error('the database is away');
    return { keys: [] };
  };
  const app = Fastify();
  addJwksRoute(app, { store: { asSystem } as never });
  const read = async () =>
    (await app.inject('/.well-known/jwks.json')).statusCode;
  expect(await read()).toBe(500);
  expect(await Promise.all(Array.from({ length: 50 }, read))).toEqual(
    Array(50).fill(200),
  );
  expect(reads).toBe(2);
  await app.close();
});
