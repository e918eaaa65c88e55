import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWebhookSender } from '../../../src/exchange/platform/outbox/sender.ts';
import {
  createWebhookKeys,
  generateWebhookKey,
} from '../../../src/exchange/platform/outbox/webhook-key.ts';
import { testKeyRing } from '../../support/test-keys.ts';

describe('a webhook to a private address', () => {
  const server = createServer((_request, response) =>
    response.writeHead(204).end(),
  );
  let origin: string;

  beforeAll(async () => {
    await new Promise<void>((resolve) =>
      server.listen(0, '127.0.0.1', resolve),
    );
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
  });

  const webhookKeys = createWebhookKeys(testKeyRing());
  const send = (trustedOrigins: string[]) =>
    createWebhookSender({
      destinations: { allowLoopback: false, trustedOrigins },
      withLinks: (_accountId, { body }) => body,
      notificationOf: async () => ({ ended: 'no subscriptions' }),
      webhookKeys,
    }).send('0191d2b4-0000-7000-8000-000000000001', {
      id: '0191d2b4-0000-7000-8000-000000000002',
      url: `${origin}/webhooks`,
      messageId: '0191d2b4-0000-7000-8000-000000000002',
      keys: [webhookKeys.seal(generateWebhookKey())],
      type: 'network-query.lab',
      patientId: null,
      body: {},
      attempts: 1,
      isProbe: false,
      heldSince: null,
      isHealthy: true,
      hasWorkflow: false,
      destinationId: '0191d2b4-0000-7000-8000-000000000003',
    });

  test('goes out where the operator vouches for the origin', async () => {
    expect(await send([origin])).toMatchObject({
      kind: 'delivered',
      httpStatus: 204,
    });
  });

  test('is not sent otherwise', async () => {
    expect(await send(['http://receiver:8081'])).toMatchObject({
      kind: 'failed',
    });
  });
});
