import { DEMO_ACCOUNT_ID, type SeededAccount, seedDemoAccount } from '../exchange/accounts/seed.ts';
import { createStore } from '../exchange/platform/database/database.ts';
import type { WebhookKeys } from '../exchange/platform/outbox/webhook-key.ts';
import { findDestination } from '../exchange/webhooks/settings-store.ts';

/**
 * Migrates the schema and seeds the demo account. The account's webhooks go to the stack's own receiver, unless another
 * destination has been configured.
 */
export async function prepareDatabase(
  databaseUrl: string,
  seed: { apiKey: string; webhookUrl: string; webhookKey: string; webhookKeys?: WebhookKeys },
): Promise<SeededAccount> {
  const store = createStore({ databaseUrl, poolMax: 2 });
  try {
    await store.migrate();
    const known = await store.asAccount(DEMO_ACCOUNT_ID, findDestination);
    if (known === undefined || isStackReceiver(known.url)) return await seedDemoAccount(store, seed);
    const { webhookUrl: _, ...withoutUrl } = seed;
    return await seedDemoAccount(store, withoutUrl);
  } finally {
    await store.close();
  }
}

/** Whether this is the stack's own receiver, possibly on the port of an earlier run. */
const isStackReceiver = (url: string | null): boolean =>
  url !== null && /^http:\/\/127\.0\.0\.1:\d+\/webhooks$/.test(url);
