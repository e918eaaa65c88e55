import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { request } from 'undici';
import { v7 as uuidv7 } from 'uuid';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { insertApiKey } from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { connectionTo } from '../../src/exchange/operations/admin/seed.ts';
import { insertFacility } from '../../src/exchange/people/facilities/facility-store.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { insertConnection } from '../../src/exchange/sources/connections/connection-store.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import {
  ensureSecrets,
  type StackConnection,
  type StackSecrets,
} from '../../src/local-stack/connection-file.ts';
import {
  createTemporalClient,
  type TemporalClient,
} from '../../src/temporal/client.ts';
import { type Stack, startStack } from '../../tools/embedded/stack.ts';
import { simulatedGateway } from '../../tools/embedded/stack-environment.ts';
import type { StackOptions } from '../../tools/embedded/stack-options.ts';
import {
  createSimulatorAdmin,
  type SimulatorAdmin,
} from '../../tools/simulator/admin-client.ts';

/**
 * An account of its own on a running stack; its webhooks go to the stack's
 * receiver.
 */
export interface StackAccount {
  accountId: string;
  facilityId: string;
  apiKey: string;
}

/** A running stack as the callers and the operators of a real one see it. */
export interface StackAccess {
  readonly dataDir: string;
  readonly connection: StackConnection;
  readonly secrets: StackSecrets;
  readonly temporal: TemporalClient;
  readonly simulator: SimulatorAdmin;
  /**
   * The rows of a statement, run as superuser: row-level security hides
   * nothing.
   */
  rows<T extends pg.QueryResultRow>(
    statement: string,
    values?: unknown[],
  ): Promise<T[]>;
  addAccount(): Promise<StackAccount>;
  /** One line a webhook, as the receiver noted it. */
  received(): Promise<Received[]>;
  /** Everything in the log files of the stack, by the file's name. */
  logs(): Promise<Record<string, string>>;
  /** Closes the connections, not the stack. */
  detach(): Promise<void>;
}

export interface TestStack extends StackAccess {
  readonly stack: Stack;
  stop(): Promise<void>;
}

export interface Received {
  /** When it was noted, before it was answered. */
  at: string;
  messageId: string;
  type: string;
  requestId?: string;
  repeat: boolean;
  signalled: boolean;
}

/** The whole system as child processes of this one, in the given folder. */
export async function startTestStack(
  options: StackOptions,
): Promise<TestStack> {
  const stack = await startStack({ logLevel: 'info', ...options });
  try {
    const access = await attachToStack(options.dataDir, stack.connection);
    const stop = async () => {
      await access.detach();
      await stack.stop();
    };
    return { ...access, stack, stop };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

/** Connects to a stack that runs already, also one of another process. */
export async function attachToStack(
  dataDir: string,
  connection: StackConnection,
): Promise<StackAccess> {
  const secrets = await ensureSecrets(dataDir);
  const temporal = await createTemporalClient({
    TEMPORAL_ADDRESS: connection.temporalAddress,
    TEMPORAL_NAMESPACE: connection.temporalNamespace,
    TEMPORAL_API_KEY: undefined,
    DATA_KEYS: secrets.dataKeys,
  });
  const pool = new pg.Pool({
    connectionString: connection.databaseUrl,
    max: 4,
  });
  // The server may be killed on purpose.
  pool.on('error', () => undefined);
  return {
    dataDir,
    connection,
    secrets,
    temporal,
    simulator: createSimulatorAdmin(
      connection.simulatorUrl,
      connection.simulatorAdminToken,
    ),
    rows: async (statement, values) =>
      (await pool.query(statement, values)).rows,
    addAccount: () => addAccount(connection, secrets),
    received: () => readReceived(dataDir),
    logs: () => readLogs(dataDir),
    async detach() {
      await pool.end();
      await temporal.connection.close();
    },
  };
}

async function addAccount(
  connection: StackConnection,
  secrets: StackSecrets,
): Promise<StackAccount> {
  const account = {
    accountId: uuidv7(),
    facilityId: uuidv7(),
    apiKey: generateApiKey(),
  };
  const key = parseApiKey(account.apiKey);
  if (key === undefined) throw new Error('not a key');
  const enabled = { enabled: true };
  const keyRing = parseKeyRing(secrets.dataKeys);
  const store = createStore({
    databaseUrl: connection.databaseUrl,
    poolMax: 1,
  });
  try {
    await store.asSystem(async (tx) => {
      await insertAccount(tx, {
        id: account.accountId,
        name: 'Test',
        settings: {
          sources: { hie: enabled, pharmacy: enabled, lab: enabled },
          limits: {
            requestsPerMinute: 120_000,
            networkQueriesPerMinute: 12_000,
          },
        },
      });
      await insertApiKey(tx, {
        id: uuidv7(),
        accountId: account.accountId,
        ...key,
      });
      await insertConnection(
        tx,
        connectionTo(simulatedGateway(connection.simulatorUrl), keyRing, {
          id: uuidv7(),
          accountId: account.accountId,
          messagesOnly: true,
        }),
      );
    });
    await store.asAccount(account.accountId, async (tx) => {
      await insertFacility(tx, {
        id: account.facilityId,
        oid: '2.16.840.1.113883.3.9621.5.1',
        name: 'Test clinic',
        npi: '1234567893',
        tin: null,
        address: {
          addressLine1: '1 Main St',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      });
      const url = `${connection.receiverUrl}/webhooks`;
      const keys = createWebhookKeys(keyRing);
      await setDestination(tx, {
        id: uuidv7(),
        url,
        key: keys.seal(secrets.webhookKey),
      });
    });
    return account;
  } finally {
    await store.close();
  }
}

async function readReceived(dataDir: string): Promise<Received[]> {
  const text = await readFile(
    join(dataDir, 'logs', 'received-webhooks.jsonl'),
    'utf8',
  ).catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Received);
}

async function readLogs(dataDir: string): Promise<Record<string, string>> {
  const folder = join(dataDir, 'logs');
  const names = await readdir(folder);
  return Object.fromEntries(
    await Promise.all(
      names.map(
        async (name) =>
          [name, await readFile(join(folder, name), 'utf8')] as const,
      ),
    ),
  );
}

export interface CallAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes
  body: any;
}

/** One call to the gateway. Throws when there is no answer. */
export async function callGateway(
  { baseUrl }: Pick<StackConnection, 'baseUrl'>,
  { apiKey }: Pick<StackAccount, 'apiKey'>,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  options: { body?: unknown; idempotencyKey?: string; timeoutMs?: number } = {},
): Promise<CallAnswer> {
  const answer = await request(`${baseUrl}/medical/v1/${path}`, {
    method,
    headers: {
      'x-api-key': apiKey,
      ...(options.body === undefined
        ? {}
        : { 'content-type': 'application/json' }),
      ...(options.idempotencyKey === undefined
        ? {}
        : { 'idempotency-key': options.idempotencyKey }),
    },
    body: options.body === undefined ? null : JSON.stringify(options.body),
    signal: AbortSignal.timeout(options.timeoutMs ?? 240_000),
  });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}
