import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import {
  type SeededAccount,
  seedDemoAccount,
} from '../../src/exchange/operations/admin/seed.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { freePort } from '../../src/lib/free-port.ts';
import {
  type GatewayProxy,
  startProxy,
} from '../../tools/cluster/proxy/proxy.ts';
import { newPerson } from '../support/gateway.ts';
import {
  type GatewayProcess,
  startGatewayProcess,
} from '../support/gateway-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { testKeyRing } from '../support/test-keys.ts';

let database: TestDatabase;
let blobFolder: string;
let account: SeededAccount;
let gateways: GatewayProcess[];
let proxy: GatewayProxy;

beforeAll(async () => {
  database = await createTestDatabase();
  blobFolder = await mkdtemp(join(tmpdir(), 'behind-a-proxy-'));
  const store = createStore({ databaseUrl: database.databaseUrl, poolMax: 2 });
  account = await seedDemoAccount(store, {
    apiKey: generateApiKey(),
    webhookKeys: createWebhookKeys(testKeyRing()),
  });
  await store.close();
  gateways = await Promise.all(
    [1, 2].map(() =>
      startGatewayProcess({
        databaseUrl: database.databaseUrl,
        // Nothing ever listens there: what is accepted waits.
        temporalAddress: '127.0.0.1:9',
        blobFolder,
        variables: { GATEWAY_DRAIN_SECONDS: '2' },
      }),
    ),
  );
  proxy = await startProxy({
    port: await freePort(),
    backends: gateways.map(({ baseUrl }) => baseUrl),
  });
  for (const { baseUrl } of gateways)
    expect(await proxy.waitUntilReady(baseUrl, Date.now() + 60_000)).toBe(true);
});
afterAll(async () => {
  await proxy?.close();
  for (const { process: child } of gateways ?? [])
    if (child.exitCode === null && child.signalCode === null)
      await ended(child, 'SIGKILL');
  await database.drop();
  await rm(blobFolder, { recursive: true, force: true });
});

async function ended(child: GatewayProcess['process'], signal: NodeJS.Signals) {
  child.kill(signal);
  const [code] = await once(child, 'exit');
  return code as number | null;
}

/**
 * A person created without an Idempotency-Key, another one with, and a list,
 * again and again until `isOver`.
 */
async function call(isOver: () => boolean) {
  const statuses: number[] = [];
  const send = async (
    method: 'GET' | 'POST',
    path: string,
    more: Record<string, string> = {},
  ) => {
    const answer = await request(`${proxy.url}/medical/v1/${path}`, {
      method,
      headers: {
        'x-api-key': account.apiKey,
        'content-type': 'application/json',
        ...more,
      },
      body: method === 'GET' ? null : JSON.stringify(newPerson()),
    });
    await answer.body.dump();
    statuses.push(answer.statusCode);
  };
  const create = `patient?facilityId=${account.facilityId}`;
  do {
    await send('POST', create);
    await send('POST', create, { 'idempotency-key': randomUUID() });
    await send('GET', 'patient');
  } while (!isOver());
  return statuses;
}

test('one of two gateways ends while callers go on: none of their requests fails, also without Idempotency-Key', async () => {
  const [first] = gateways as [GatewayProcess];
  let isOver = false;
  const calling = Promise.all([1, 2, 3, 4].map(() => call(() => isOver)));
  await expect.poll(() => proxy.counts.requests).toBeGreaterThan(10);
  const code = await ended(first.process, 'SIGTERM');
  const before = proxy.counts.requests;
  await expect.poll(() => proxy.counts.requests).toBeGreaterThan(before + 10);
  isOver = true;
  const statuses = (await calling).flat();
  expect(code).toBe(0);
  expect(new Set(statuses)).toEqual(new Set([200, 201]));
  expect(proxy.counts).toMatchObject({ requests: statuses.length, failed: 0 });
});
