import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureSigningKeys } from '../../src/exchange/source-connections/signing-keys.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { testKeyRing } from '../support/test-keys.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());

test('our public keys are readable without an API key, and may be cached for five minutes', async () => {
  const read = () => gateway.app.inject('/.well-known/jwks.json');
  expect((await read()).json()).toEqual({ keys: [] });
  await gateway.store.asSystem((tx) => ensureSigningKeys(tx, testKeyRing()));
  const { statusCode, headers, body } = await read();
  expect(statusCode).toBe(200);
  expect(headers['cache-control']).toBe('public, max-age=300');
  const { keys } = JSON.parse(body) as { keys: Record<string, string>[] };
  expect(keys).toHaveLength(2);
  for (const key of keys) expect(key).toMatchObject({ use: 'sig', kid: expect.any(String) });
  expect(body).not.toContain('"d"');
});
