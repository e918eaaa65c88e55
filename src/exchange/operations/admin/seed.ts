import { v5 as uuidv5, v7 as uuidv7 } from 'uuid';
import { insertAccount } from '../../access/accounts/account-store.ts';
import { insertApiKey } from '../../access/accounts/api-key-store.ts';
import { parseApiKey } from '../../access/accounts/rules/api-key.ts';
import {
  findDestination,
  setDestination,
} from '../../messaging/webhooks/settings-store.ts';
import { insertFacility } from '../../people/facilities/facility-store.ts';
import type { Store } from '../../platform/database/database.ts';
import {
  generateWebhookKey,
  type WebhookKeys,
} from '../../platform/outbox/webhook-key.ts';

export interface SeededAccount {
  accountId: string;
  apiKey: string;
  facilityId: string;
  webhookKey: string;
}

/**
 * Namespace of the derived ids, which are the same on every machine, so that
 * seeding is idempotent.
 */
const SEED_NAMESPACE = '6f1d3f9c-2f0a-4f0e-9a51-7a2c6a3f6b10';
export const DEMO_ACCOUNT_ID = uuidv5('demo-account', SEED_NAMESPACE);
const FACILITY_ID = uuidv5('demo-facility', SEED_NAMESPACE);

/** A hundred times the default limits, for demos and benchmarks. */
const LIMITS = {
  requestsPerMinute: 120_000,
  networkQueriesPerMinute: 12_000,
  pharmacyRealtimePerDay: 100_000,
  consolidatedQueriesPerMinute: 12_000,
  messagesPerMinute: 6_000,
};

/**
 * Creates the demo account with one facility, all three sources and an API key.
 * Idempotent; a key that is not known yet is added. With `webhookUrl`, sets the
 * webhook destination, and its key to `webhookKey` if that is given. Throws if
 * `apiKey` is not an API key.
 */
export async function seedDemoAccount(
  store: Store,
  options: {
    apiKey: string;
    webhookUrl?: string;
    webhookKey?: string;
    /** Encrypts the webhook key. */
    webhookKeys: WebhookKeys;
  },
): Promise<SeededAccount> {
  const { webhookKeys } = options;
  const key = parseApiKey(options.apiKey);
  if (key === undefined)
    throw new Error(
      'API_KEY is not an API key; generate one with: npm run secrets',
    );
  const enabled = { enabled: true };
  await store.asSystem(async (tx) => {
    await insertAccount(tx, {
      id: DEMO_ACCOUNT_ID,
      name: 'Demo account',
      settings: {
        sources: { hie: enabled, pharmacy: enabled, lab: enabled },
        limits: LIMITS,
      },
    });
    await insertApiKey(tx, {
      id: uuidv7(),
      accountId: DEMO_ACCOUNT_ID,
      ...key,
    });
  });
  const webhookKey = await store.asAccount(DEMO_ACCOUNT_ID, async (tx) => {
    await insertFacility(tx, {
      id: FACILITY_ID,
      oid: '2.16.840.1.113883.3.9621.5.2031',
      name: 'Harborview Family Medicine',
      npi: '1234567893',
      tin: '042103580',
      address: {
        addressLine1: '220 Clarendon Street',
        addressLine2: 'Suite 400',
        city: 'Boston',
        state: 'MA',
        zip: '02116',
        country: 'USA',
      },
    });
    const known = await findDestination(tx);
    const url = options.webhookUrl ?? known?.url ?? null;
    if (known !== undefined && known.key !== null && known.url === url)
      return webhookKeys.open(known.key);
    const key = webhookKeys.seal(options.webhookKey ?? generateWebhookKey());
    return webhookKeys.open(
      (await setDestination(tx, { id: known?.id ?? uuidv7(), url, key })).key ??
        key,
    );
  });
  return {
    accountId: DEMO_ACCOUNT_ID,
    apiKey: options.apiKey,
    facilityId: FACILITY_ID,
    webhookKey,
  };
}
