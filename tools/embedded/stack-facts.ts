import pg from 'pg';
import { findDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import {
  DEMO_ACCOUNT_ID,
  type SeededAccount,
  seedDemoAccount,
  seedGatewayAccount,
  seedMailbox,
  seedMembership,
  seedSubmissions,
} from '../../src/exchange/operations/admin/seed.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import {
  createWebhookKeys,
  type WebhookKeys,
} from '../../src/exchange/platform/outbox/webhook-key.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { readTlsFolder } from '../../src/lib/tls-folder.ts';
import {
  type StackConnection,
  type StackStorage,
  storageInFolders,
} from '../../src/local-stack/connection-file.ts';
import type { StackNetwork } from './network-certificates.ts';
import {
  gatewayUrl,
  receiverUrl,
  type StackFacts,
  simulatedGateway,
  simulatedMailbox,
  simulatedNetwork,
  simulatorUrl,
} from './stack-environment.ts';
import type { ServerContext, StackTemporal } from './stack-servers.ts';

export interface PreparedStack {
  readonly facts: StackFacts;
  readonly account: SeededAccount;
  /** The account whose source is the simulator's IHE gateway. */
  readonly gatewayAccount: Pick<SeededAccount, 'apiKey' | 'facilityId'>;
  /** The demo account's membership in the simulated network. */
  readonly membershipId: string | undefined;
}

/**
 * Migrates the database, seeds the demo account, and returns what the
 * environments of all processes are built from.
 */
export async function prepareStack(
  { dataDir, ports, secrets, outside }: ServerContext,
  {
    databaseUrl,
    temporal,
    logLevel,
    storage = storageInFolders(dataDir),
    network,
  }: {
    databaseUrl: string;
    temporal: StackTemporal;
    logLevel: string;
    storage?: StackStorage;
    network?: StackNetwork;
  },
): Promise<PreparedStack> {
  const keyRing = parseKeyRing(secrets.dataKeys);
  const account = await prepareDatabase(databaseUrl, {
    apiKey: secrets.apiKey,
    webhookKey: secrets.webhookKey,
    webhookKeys: createWebhookKeys(keyRing),
    webhookUrl: `${receiverUrl(ports)}/webhooks`,
  });
  await prepareMessages(databaseUrl, {
    mailbox: simulatedMailbox(ports, secrets),
    gateway: simulatedGateway(simulatorUrl(ports)),
    keyRing,
  });
  const gatewayAccount = await prepareGatewayAccount(databaseUrl, {
    apiKey: secrets.gatewayApiKey,
    gateway: simulatedGateway(simulatorUrl(ports)),
    keyRing,
  });
  const facts: StackFacts = {
    dataDir,
    logLevel,
    secrets,
    ports,
    databaseUrl:
      outside.databaseUrl ??
      (await ensureServiceLogin(databaseUrl, secrets.serviceDatabasePassword)),
    temporal: {
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      ...temporal.environment,
    },
    storage,
    accountId: account.accountId,
    webhookKey: account.webhookKey,
    sources: outside.sources ?? {},
    network,
  };
  const membershipId =
    network && (await prepareMembership(databaseUrl, network));
  return { facts, account, gatewayAccount, membershipId };
}

/** How to reach the stack. */
export function connectionOf(
  {
    facts: { ports, secrets, storage, network },
    account,
    gatewayAccount,
    membershipId,
  }: PreparedStack,
  { databaseUrl, temporal }: { databaseUrl: string; temporal: StackTemporal },
): StackConnection {
  return {
    pid: process.pid,
    baseUrl: gatewayUrl(ports),
    apiKey: account.apiKey,
    accountId: account.accountId,
    facilityId: account.facilityId,
    gatewayAccount: {
      apiKey: gatewayAccount.apiKey,
      facilityId: gatewayAccount.facilityId,
    },
    ...(network === undefined || membershipId === undefined
      ? {}
      : {
          network: {
            address: `https://localhost:${ports.ihe}/ihe/${membershipId}`,
            member: network.theirs,
          },
        }),
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    temporalUiUrl: temporal.uiUrl,
    temporalUiLink: temporal.ui?.link(),
    databaseUrl,
    storage,
    simulatorUrl: simulatorUrl(ports),
    simulatorAdminToken: secrets.simulatorAdminToken,
    receiverUrl: receiverUrl(ports),
    codecUrl: temporal.ui?.codecUrl,
    codecToken: temporal.ui === undefined ? undefined : secrets.codecToken,
  };
}

/** As in deploy/postgres/init.sql. */
const SERVICE_LOGIN = 'exchange_service';

/**
 * Migrates the schema and seeds the demo account. The account's webhooks go to
 * the stack's own receiver, unless another destination has been configured.
 */
export async function prepareDatabase(
  databaseUrl: string,
  seed: {
    apiKey: string;
    webhookUrl: string;
    webhookKey: string;
    webhookKeys: WebhookKeys;
  },
): Promise<SeededAccount> {
  const store = createStore({ databaseUrl, poolMax: 2 });
  try {
    await store.migrate();
    const known = await store.asAccount(DEMO_ACCOUNT_ID, findDestination);
    if (known === undefined || isStackReceiver(known.url))
      return await seedDemoAccount(store, seed);
    const { webhookUrl: _, ...withoutUrl } = seed;
    return await seedDemoAccount(store, withoutUrl);
  } finally {
    await store.close();
  }
}

/** Makes the demo account a member of the stack's network. */
async function prepareMembership(
  databaseUrl: string,
  network: StackNetwork,
): Promise<string> {
  const { clientAuthorities = '' } = await readTlsFolder(
    network.ours,
    'IHE_TLS',
  );
  const store = createStore({ databaseUrl, poolMax: 1 });
  try {
    return await seedMembership(store, {
      ...simulatedNetwork,
      trusted: clientAuthorities,
    });
  } finally {
    await store.close();
  }
}

/** Seeds the account whose source is the simulator's IHE gateway. */
async function prepareGatewayAccount(
  databaseUrl: string,
  seed: Parameters<typeof seedGatewayAccount>[1],
): Promise<PreparedStack['gatewayAccount']> {
  const store = createStore({ databaseUrl, poolMax: 1 });
  try {
    return await seedGatewayAccount(store, seed);
  } finally {
    await store.close();
  }
}

/** Gives the demo account what carries its messages: a mailbox, and a gateway. */
async function prepareMessages(
  databaseUrl: string,
  {
    mailbox,
    ...submissions
  }: {
    mailbox: Omit<Parameters<typeof seedMailbox>[1], 'keyRing'>;
  } & Parameters<typeof seedSubmissions>[1],
): Promise<void> {
  const store = createStore({ databaseUrl, poolMax: 1 });
  try {
    const { keyRing } = submissions;
    await seedMailbox(store, { ...mailbox, keyRing });
    await seedSubmissions(store, submissions);
  } finally {
    await store.close();
  }
}

/**
 * Creates the login of the stack's gateway and worker, which owns nothing, and
 * returns its address. For the stack's own server only: the logins of an
 * external one are its administrator's.
 */
export async function ensureServiceLogin(
  databaseUrl: string,
  password: string,
): Promise<string> {
  const login = pg.escapeIdentifier(SERVICE_LOGIN);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query(
      'SELECT 1 FROM pg_roles WHERE rolname = $1',
      [SERVICE_LOGIN],
    );
    if (rowCount === 0)
      await client.query(`CREATE ROLE ${login} LOGIN NOINHERIT`);
    await client.query(
      `ALTER ROLE ${login} PASSWORD ${pg.escapeLiteral(password)}`,
    );
    await client.query(`GRANT exchange_app, exchange_system TO ${login}`);
  } finally {
    await client.end();
  }
  return Object.assign(new URL(databaseUrl), {
    username: SERVICE_LOGIN,
    password,
  }).href;
}

/**
 * Whether this is the stack's own receiver, possibly on the port of an earlier
 * run.
 */
const isStackReceiver = (url: string | null): boolean =>
  url !== null && /^http:\/\/127\.0\.0\.1:\d+\/webhooks$/.test(url);
