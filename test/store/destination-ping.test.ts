import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { expect, onTestFinished } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { createDestinationPing } from '../../src/exchange/messaging/webhooks/ping.ts';
import {
  findDestination,
  setDestination,
} from '../../src/exchange/messaging/webhooks/settings-store.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { createWebhookSender } from '../../src/exchange/platform/outbox/sender.ts';
import {
  createWebhookKeys,
  generateWebhookKey,
} from '../../src/exchange/platform/outbox/webhook-key.ts';
import { storeTest as test } from '../support/fixtures.ts';
import { sealedWebhookKey, testKeyRing } from '../support/test-keys.ts';

/**
 * A receiver that answers what `answer` makes of the body; gives its address.
 */
async function receiver(
  answer: (body: string, headers: Record<string, string>) => string,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    response.end(
      answer(
        Buffer.concat(parts).toString(),
        request.headers as Record<string, string>,
      ),
    );
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

/** The health of a destination after it was pinged. */
async function healthOf(
  store: Store,
  url: string,
  key = generateWebhookKey(),
  allowLoopback = true,
) {
  const accountId = uuidv7();
  await store.asSystem((tx) =>
    insertAccount(tx, { id: accountId, name: 'Pinged', settings: {} }),
  );
  await store.asAccount(accountId, (tx) =>
    setDestination(tx, { id: uuidv7(), url, key: sealedWebhookKey(key) }),
  );
  const sender = createWebhookSender({
    destinations: { allowLoopback },
    withLinks: (_accountId, { body }) => body,
    notificationOf: async () => ({ ended: 'no subscriptions' }),
    webhookKeys: createWebhookKeys(testKeyRing()),
  });
  const pings = createDestinationPing({
    store,
    sender,
    webhookDispatcher: { handOver: async () => undefined },
    logger: pino({ level: 'silent' }),
  });
  pings.ping(accountId);
  await pings.drain();
  return (await store.asAccount(accountId, findDestination))?.health;
}

test('a destination that answers the signed ping by its pong is healthy', async ({
  store,
}) => {
  const key = generateWebhookKey();
  const url = await receiver((body, headers) => {
    const { ping } = new Webhook(key).verify(body, headers) as { ping: string };
    return JSON.stringify({ pong: ping });
  });
  expect(await healthOf(store, url, key)).toBe('healthy');
});

test.for<[string, () => string]>([
  ['answers something else', () => '{"pong":"another"}'],
  ['answers no JSON', () => '<html>welcome</html>'],
])('a destination that %s is failing', async ([_, answer], { store }) => {
  expect(await healthOf(store, await receiver(answer))).toBe('failing');
});

test('a destination that nobody serves is failing, and so is one that webhooks may not reach', async ({
  store,
}) => {
  const pong = (body: string) =>
    JSON.stringify({ pong: (JSON.parse(body) as { ping: string }).ping });
  expect(await healthOf(store, 'http://127.0.0.1:9/hooks')).toBe('failing');
  expect(await healthOf(store, await receiver(pong), undefined, false)).toBe(
    'failing',
  );
});
