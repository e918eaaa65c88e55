import { v7 as uuidv7 } from 'uuid';
import { expect, test } from 'vitest';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import {
  findDestination,
  setDestination,
} from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import {
  createWebhookKeys,
  generateWebhookKey,
} from '../../src/exchange/platform/outbox/webhook-key.ts';
import { prepareDatabase } from '../../tools/embedded/stack-facts.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { testKeyRing } from '../support/test-keys.ts';

test('the stack’s receiver gets the webhooks, on its present port, until somebody sets another destination', async () => {
  const { databaseUrl } = await createTestDatabase();
  const webhookKeys = createWebhookKeys(testKeyRing());
  const seed = {
    apiKey: generateApiKey(),
    webhookKey: generateWebhookKey(),
    webhookKeys,
  };
  const start = (port: number) =>
    prepareDatabase(databaseUrl, {
      ...seed,
      webhookUrl: `http://127.0.0.1:${port}/webhooks`,
    });
  const store = createStore({ databaseUrl, poolMax: 2 });
  try {
    const { accountId } = await start(4001);
    const destination = async () => {
      const found = await store.asAccount(accountId, findDestination);
      return { url: found?.url, key: webhookKeys.open(found?.key ?? '') };
    };
    expect((await destination()).url).toBe('http://127.0.0.1:4001/webhooks');
    await start(4002);
    expect(await destination()).toMatchObject({
      url: 'http://127.0.0.1:4002/webhooks',
      key: seed.webhookKey,
    });

    const url = 'https://hooks.example.org/mine';
    await store.asAccount(accountId, (tx) =>
      setDestination(tx, {
        id: uuidv7(),
        url,
        key: webhookKeys.seal(seed.webhookKey),
      }),
    );
    await start(4003);
    expect(await destination()).toMatchObject({ url, key: seed.webhookKey });
  } finally {
    await store.close();
  }
});
