import { DEMO_ACCOUNT_ID, type SeededAccount, seedDemoAccount } from '../exchange/accounts/seed.ts';
import { createStore } from '../exchange/platform/database/database.ts';
import type { WebhookKeys } from '../exchange/platform/outbox/webhook-key.ts';
import { findDestination } from '../exchange/webhooks/settings-store.ts';

/**
 * Brings the schema up to date and makes sure of the demo account. Its webhooks go to the stack's own receiver, unless
 * somebody has set another destination, which stays.
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

/** A receiver of this stack, perhaps on the port of an earlier run. */
const isStackReceiver = (url: string | null): boolean =>
  url !== null && /^http:\/\/127\.0\.0\.1:\d+\/webhooks$/.test(url);
