import { v5 as uuidv5, v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { SourceType } from '../../../contract/primitives.ts';
import type { KeyRing } from '../../../lib/key-ring.ts';
import {
  insertAccount,
  lockAccount,
  updateAccount,
} from '../../access/accounts/account-store.ts';
import { insertApiKey } from '../../access/accounts/api-key-store.ts';
import { parseApiKey } from '../../access/accounts/rules/api-key.ts';
import {
  membershipSettingsSchema,
  type NetworkMember,
} from '../../delivery/responding-gateway/membership-settings.ts';
import {
  findMembership,
  insertMembership,
  updateMembership,
} from '../../delivery/responding-gateway/membership-store.ts';
import {
  type MailboxCredentials,
  mailboxSettingsSchema,
  sealMailboxCredentials,
} from '../../messaging/messages/direct/mailbox-settings.ts';
import { putMailbox } from '../../messaging/messages/direct/mailbox-store.ts';
import {
  findDestination,
  setDestination,
} from '../../messaging/webhooks/settings-store.ts';
import { insertFacility } from '../../people/facilities/facility-store.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import {
  generateWebhookKey,
  type WebhookKeys,
} from '../../platform/outbox/webhook-key.ts';
import { namespaceOf } from '../../records/rules/ids.ts';
import { settingsOf } from '../../sources/connections/connection-options.ts';
import {
  deleteConnection,
  findConnection,
  insertConnection,
  type NewConnection,
} from '../../sources/connections/connection-store.ts';
import { sealCredentials } from '../../sources/connections/settings.ts';

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
const GATEWAY_ACCOUNT_ID = uuidv5('gateway-account', SEED_NAMESPACE);
const GATEWAY_FACILITY_ID = uuidv5('gateway-facility', SEED_NAMESPACE);
const MEMBERSHIP_ID = uuidv5('membership', SEED_NAMESPACE);
const GATEWAY_CONNECTION_ID = uuidv5('gateway-connection', SEED_NAMESPACE);
const SUBMISSION_CONNECTION_ID = uuidv5(
  'submission-connection',
  SEED_NAMESPACE,
);

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
  await store.asSystem((tx) =>
    insertAccountWithKey(tx, {
      id: DEMO_ACCOUNT_ID,
      name: 'Demo account',
      sources: { hie: true, pharmacy: true, lab: true },
      apiKey: options.apiKey,
    }),
  );
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

/**
 * Gives the demo account a mailbox for Direct messages, at whose address it also
 * receives.
 */
export async function seedMailbox(
  store: Store,
  {
    settings: given,
    credentials,
    keyRing,
  }: {
    settings: z.input<typeof mailboxSettingsSchema>;
    credentials: MailboxCredentials;
    keyRing: KeyRing;
  },
): Promise<void> {
  const settings = mailboxSettingsSchema.parse(given);
  await store.asSystem(async (tx) => {
    const account = await lockAccount(tx, DEMO_ACCOUNT_ID);
    if (account === undefined) throw new Error('there is no demo account');
    await updateAccount(tx, DEMO_ACCOUNT_ID, {
      name: account.name,
      dialect: account.dialect,
      settings: {
        ...account.settings,
        messages: { directAddresses: [settings.address] },
      },
    });
    await putMailbox(tx, {
      accountId: DEMO_ACCOUNT_ID,
      settings,
      credentials: sealMailboxCredentials(
        keyRing,
        DEMO_ACCOUNT_ID,
        credentials,
      ),
    });
  });
}

/** An IHE gateway that an account asks, and what it is told of us. */
interface SeededGateway {
  discoveryUrl: string;
  queryUrl: string;
  retrieveUrl: string;
  submissionUrl: string;
  homeCommunity: string;
  ownHomeCommunity: string;
}

/**
 * Gives the demo account a connection to an IHE gateway that takes its messages
 * to OIDs and is not asked about patients. Idempotent.
 */
export async function seedSubmissions(
  store: Store,
  { gateway, keyRing }: { gateway: SeededGateway; keyRing: KeyRing },
): Promise<void> {
  const connection = connectionTo(gateway, keyRing, {
    id: SUBMISSION_CONNECTION_ID,
    accountId: DEMO_ACCOUNT_ID,
    messagesOnly: true,
  });
  await store.asSystem((tx) => putConnection(tx, connection));
}

/** A connection to an IHE gateway that demands no login. */
export function connectionTo(
  { discoveryUrl, ...settings }: SeededGateway,
  keyRing: KeyRing,
  {
    id,
    accountId,
    messagesOnly = false,
  }: { id: string; accountId: string; messagesOnly?: boolean },
): NewConnection {
  return {
    id,
    accountId,
    source: 'hie',
    name: messagesOnly ? 'messages' : 'gateway',
    baseUrl: discoveryUrl,
    settings: settingsOf({
      protocol: 'ihe',
      messagesOnly: String(messagesOnly),
      ...settings,
    }),
    authKind: 'none',
    credentials: sealCredentials(keyRing, id, {
      auth: { kind: 'none' },
      tls: {},
    }),
    namespace: namespaceOf(id),
    enabled: true,
  };
}

/** A connection whose gateway has moved is made anew. */
async function putConnection(
  tx: SystemTx,
  connection: NewConnection,
): Promise<void> {
  const known = await findConnection(tx, connection.id);
  const isUnchanged =
    known?.baseUrl === connection.baseUrl &&
    known.settings.ihe?.submissionUrl ===
      connection.settings.ihe?.submissionUrl;
  if (isUnchanged) return;
  if (known !== undefined) await deleteConnection(tx, known.id);
  await insertConnection(tx, connection);
}

/**
 * Creates a second account with one facility and an API key, whose only source
 * is a connection to an IHE gateway. Idempotent; a gateway that has moved is
 * asked where it is now.
 */
export async function seedGatewayAccount(
  store: Store,
  {
    apiKey,
    gateway,
    keyRing,
  }: { apiKey: string; gateway: SeededGateway; keyRing: KeyRing },
): Promise<Omit<SeededAccount, 'webhookKey'>> {
  const connection = connectionTo(gateway, keyRing, {
    id: GATEWAY_CONNECTION_ID,
    accountId: GATEWAY_ACCOUNT_ID,
  });
  await store.asSystem(async (tx) => {
    await insertAccountWithKey(tx, {
      id: GATEWAY_ACCOUNT_ID,
      name: 'Demo account behind a gateway',
      sources: { hie: true, pharmacy: false, lab: false },
      apiKey,
    });
    await putConnection(tx, connection);
  });
  await store.asAccount(GATEWAY_ACCOUNT_ID, (tx) =>
    insertFacility(tx, {
      id: GATEWAY_FACILITY_ID,
      oid: '2.16.840.1.113883.3.9621.5.2032',
      name: 'Seaport Walk-in Clinic',
      npi: '1234567893',
      tin: '042103580',
      address: {
        addressLine1: '100 Northern Avenue',
        city: 'Boston',
        state: 'MA',
        zip: '02210',
        country: 'USA',
      },
    }),
  );
  return {
    accountId: GATEWAY_ACCOUNT_ID,
    apiKey,
    facilityId: GATEWAY_FACILITY_ID,
  };
}

/**
 * Makes the demo account a member of a network, in which one community may ask
 * and send. Idempotent; the network's authorities may change.
 *
 * @returns the id of the membership
 */
export async function seedMembership(
  store: Store,
  {
    name,
    trusted,
    community,
    ...settings
  }: {
    name: string;
    trusted: string;
    community: NetworkMember;
    homeCommunity: string;
    organizationName: string;
    purposes: string[];
  },
): Promise<string> {
  await store.asSystem(async (tx) => {
    const known = await findMembership(tx, MEMBERSHIP_ID);
    if (known !== undefined)
      return updateMembership(tx, MEMBERSHIP_ID, { trusted });
    await insertMembership(tx, {
      id: MEMBERSHIP_ID,
      accountId: DEMO_ACCOUNT_ID,
      name,
      trusted,
      settings: membershipSettingsSchema.parse({
        ...settings,
        communities: [community],
      }),
      enabled: true,
    });
  });
  return MEMBERSHIP_ID;
}

/** Throws if `apiKey` is not an API key. */
async function insertAccountWithKey(
  tx: SystemTx,
  account: {
    id: string;
    name: string;
    sources: Record<SourceType, boolean>;
    apiKey: string;
  },
): Promise<void> {
  const key = parseApiKey(account.apiKey);
  if (key === undefined)
    throw new Error(
      'API_KEY is not an API key; generate one with: npm run secrets',
    );
  const { hie, pharmacy, lab } = account.sources;
  await insertAccount(tx, {
    id: account.id,
    name: account.name,
    settings: {
      sources: {
        hie: { enabled: hie },
        pharmacy: { enabled: pharmacy },
        lab: { enabled: lab },
      },
      limits: LIMITS,
    },
  });
  await insertApiKey(tx, { id: uuidv7(), accountId: account.id, ...key });
}
