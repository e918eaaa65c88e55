import { ConfigError, readConfig } from './config.ts';
import { parseApiKey } from './exchange/access/accounts/rules/api-key.ts';
import { seedDemoAccount } from './exchange/operations/admin/seed.ts';
import { createStore } from './exchange/platform/database/database.ts';
import { createWebhookKeys } from './exchange/platform/outbox/webhook-key.ts';
import { parseKeyRing } from './lib/key-ring.ts';
import { runProcess } from './lib/process.ts';

/**
 * Creates the first account of a deployment, unless it exists, and exits: one
 * facility, all three sources, the given API key. The schema must be up to
 * date. Logs ids, never the key.
 */
await runProcess('seed', async (logger) => {
  const config = readConfig([
    'DATABASE_URL',
    'DATA_KEYS',
    'API_KEY',
    'SEED_WEBHOOK_URL',
    'WEBHOOK_KEY',
  ]);
  const { API_KEY: apiKey } = config;
  if (apiKey === undefined || parseApiKey(apiKey) === undefined)
    throw new ConfigError(
      'API_KEY is missing, or is not an API key (mdx_…); create one with: npm run secrets',
    );
  const store = createStore({ databaseUrl: config.DATABASE_URL, poolMax: 2 });
  const seeded = seedDemoAccount(store, {
    apiKey,
    webhookUrl: config.SEED_WEBHOOK_URL,
    webhookKeys: createWebhookKeys(parseKeyRing(config.DATA_KEYS)),
    // During a rotation WEBHOOK_KEY lists several keys, the newest first.
    webhookKey: config.WEBHOOK_KEY?.split(/\s+/)[0],
  }).then(({ accountId, facilityId }) =>
    logger.info({ accountId, facilityId }, 'the first account is there'),
  );
  return { ended: seeded, stop: () => store.close() };
});
