import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { request } from 'undici';
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  inject,
  test,
} from 'vitest';
import { networkQueryWorkflowId } from '../../src/contract/temporal.ts';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import {
  type SeededAccount,
  seedDemoAccount,
} from '../../src/exchange/operations/admin/seed.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { closedGate } from '../support/gate.ts';
import { newPerson } from '../support/gateway.ts';
import {
  type GatewayProcess,
  startGatewayProcess,
} from '../support/gateway-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { testKeyRing } from '../support/test-keys.ts';

let database: TestDatabase;
let blobFolder: string;
let store: Store;
let seeded: SeededAccount;
let gateway: GatewayProcess | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  blobFolder = await mkdtemp(join(tmpdir(), 'gateway-process-'));
  store = createStore({ databaseUrl: database.databaseUrl, poolMax: 2 });
  seeded = await seedDemoAccount(store, {
    apiKey: generateApiKey(),
    webhookKeys: createWebhookKeys(testKeyRing()),
  });
});
afterEach(async () => {
  if (
    gateway?.process.exitCode === null &&
    gateway.process.signalCode === null
  ) {
    gateway.process.kill('SIGKILL');
    await once(gateway.process, 'exit');
  }
});
afterAll(async () => {
  await store.close();
  await database.drop();
  await rm(blobFolder, { recursive: true, force: true });
});

interface PatientWithQuery {
  networkQuery: { requestId: string; status: string };
}

async function startGateway(
  temporalAddress: string,
  variables: Record<string, string> = {},
) {
  const { databaseUrl } = database;
  const started = await startGatewayProcess({
    databaseUrl,
    temporalAddress,
    blobFolder,
    variables,
  });
  gateway = started;
  return started;
}

async function createPatient(baseUrl: string) {
  const answer = await request(
    `${baseUrl}/medical/v1/patient?facilityId=${seeded.facilityId}`,
    {
      method: 'POST',
      headers: {
        'x-api-key': seeded.apiKey,
        'content-type': 'application/json',
      },
      body: JSON.stringify(newPerson({ networkQuery: { sources: ['hie'] } })),
    },
  );
  return {
    status: answer.statusCode,
    body: (await answer.body.json()) as PatientWithQuery,
  };
}

async function stopped(child: ChildProcess): Promise<number | null> {
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  return code as number | null;
}

const ALL_WELL = ['hie', 'pharmacy', 'lab'].map((source) => ({
  source,
  state: 'ok',
}));

describe('the gateway as a process', () => {
  test('starts the workflow of an accepted query, and stops cleanly when asked', async () => {
    const { process: child, baseUrl } = await startGateway(
      inject('temporalAddress'),
    );
    const ready = await (await request(`${baseUrl}/ready`)).body.json();
    expect(ready).toEqual({
      status: 'ready',
      database: 'up',
      temporal: 'up',
      sources: ALL_WELL,
    });
    const { status, body } = await createPatient(baseUrl);
    expect(status).toBe(201);
    expect(await stopped(child)).toBe(0);

    const { requestId } = body.networkQuery;
    const connection = await openConnection({
      address: inject('temporalAddress'),
    });
    const handle = new Client({ connection }).workflow.getHandle(
      networkQueryWorkflowId(requestId),
    );
    expect((await handle.describe()).type).toBe('networkQuery');
    await handle.terminate('end of the test');
    await connection.close();
  });

  test('when asked to end, it is not ready but serves what still comes, and then ends', async () => {
    const { process: child, baseUrl } = await startGateway(
      inject('temporalAddress'),
      {
        GATEWAY_DRAIN_SECONDS: '2',
      },
    );
    const ended = stopped(child);
    const ready = async () => {
      const { statusCode, headers, body } = await request(`${baseUrl}/ready`);
      return [
        statusCode,
        headers.connection,
        ((await body.json()) as { status: string }).status,
      ];
    };
    await expect.poll(ready).toEqual([503, 'close', 'draining']);
    expect((await createPatient(baseUrl)).status).toBe(201);
    expect(await ended).toBe(0);
    await expect(request(`${baseUrl}/health`)).rejects.toThrow('ECONNREFUSED');
  });

  test('accepts work while Temporal is away, and says that it is', async () => {
    // Nothing ever listens on the port of "discard".
    const { process: child, baseUrl } = await startGateway('127.0.0.1:9');
    const ready = await request(`${baseUrl}/ready`);
    expect([ready.statusCode, await ready.body.json()]).toEqual([
      200,
      { status: 'ready', database: 'up', temporal: 'down', sources: ALL_WELL },
    ]);
    const { status, body } = await createPatient(baseUrl);
    expect([status, body.networkQuery.status]).toEqual([201, 'processing']);
    expect(await stopped(child)).toBe(0);
  });
});

describe('the gateway as a process with an MLLP port', () => {
  // Temporal is not needed to take messages.
  const NO_TEMPORAL = '127.0.0.1:9';
  let port: number;
  const listening = async () => {
    const started = await startGateway(NO_TEMPORAL, {
      MLLP_PORT: String(port),
      MLLP_SENDERS: 'mercy=ADT|MERCY',
      NOTIFICATION_SENDERS: 'mercy=secret-of-mercy-hospital',
    });
    return started.process;
  };
  const adt = (id: string, visit: string) =>
    Buffer.from(
      `\u000bMSH|^~\\&|ADT|MERCY|HUB|X|20261120080000+0000||ADT^A01|${id}|P|2.5.1\rPID|||R1^^^MERCY^MR||Li^Wei||19800405\rPV1||I|W1||||||||||||||||${visit}\u001c\r`,
    );
  async function sending(message: Buffer): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    // The gateway is killed while the connection is open.
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(message);
    return socket;
  }
  async function acknowledged(message: Buffer): Promise<string> {
    const socket = await sending(message);
    const [ack] = await once(socket, 'data');
    socket.destroy();
    return String(ack);
  }
  const kill = async (child: ChildProcess) => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const stored = () =>
    store.asSystem(async (tx) => {
      const { rows } = await sql<{ messages: number; events: number }>`
        select (select count(*)::int from inbound_message) as messages,
          (select count(*)::int from inbound_event) as events`.execute(tx.db);
      return rows[0];
    });
  beforeAll(async () => {
    port = await freePort();
  });

  test('that is killed between frame and acknowledgement gets the message again, and stores it once', async () => {
    // Killed before the commit: another transaction keeps the sender's lock.
    const before = await listening();
    const release = closedGate();
    const isHeld = closedGate();
    const holding = store.asSystem(async (tx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended('inbound/mercy', 0))`.execute(
        tx.db,
      );
      isHeld.open();
      await release.passed;
    });
    await isHeld.passed;
    const first = await sending(adt('m-1', 'V1'));
    await expect.poll(waitsForLock, { timeout: 240_000 }).toBe(true);
    await kill(before);
    first.destroy();
    release.open();
    await holding;
    expect(await stored()).toEqual({ messages: 0, events: 0 });

    // Killed after the commit: the sender has not seen the acknowledgement.
    const after = await listening();
    expect(await acknowledged(adt('m-1', 'V1'))).toContain('MSA|AA|m-1');
    const second = await sending(adt('m-2', 'V2'));
    await expect
      .poll(stored, { timeout: 240_000 })
      .toEqual({ messages: 2, events: 2 });
    await kill(after);
    second.destroy();

    const again = await listening();
    expect(await acknowledged(adt('m-2', 'V2'))).toContain('MSA|AA|m-2');
    expect(await acknowledged(adt('m-1', 'V1'))).toContain('MSA|AA|m-1');
    expect(await stored()).toEqual({ messages: 2, events: 2 });
    expect(await stopped(again)).toBe(0);
  });

  const waitsForLock = () =>
    store.asSystem(async (tx) => {
      const { rows } = await sql`
        select from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`.execute(
        tx.db,
      );
      return rows.length > 0;
    });
});
