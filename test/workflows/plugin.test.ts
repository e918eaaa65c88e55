import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Client, type Connection } from '@temporalio/client';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { parseKeyRing } from '../../src/library/data-converter.ts';
import { openFileStore } from '../../src/library/file-store.ts';
import { API_KEY_ACCESS, type FileRef } from '../../src/library/signals.ts';
import { ExchangePlugin } from '../../src/library/worker.ts';
import {
  type bulkOnboarding,
  bulkOnboardingMessages,
  type cohortMonitoring,
  cohortMonitoringMessages,
  type patientOnboarding,
  patientOnboardingMessages,
} from '../../src/library/workflows.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import {
  type Stub,
  type StubRequest,
  startStub,
} from '../support/http-stub.ts';
import { dumpTemporal } from '../support/scan-temporal.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { TEST_DATA_KEYS } from '../support/test-keys.ts';
import type { ownWorkflow } from './plugin-workflows.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NAME = `Lieselotte${randomUUID().slice(0, 8)}`;
const PATIENT = {
  firstName: NAME,
  lastName: 'Hottenrott',
  dob: '1980-02-03',
  genderAtBirth: 'F' as const,
  address: {
    addressLine1: '1 Main St',
    city: 'Boston',
    state: 'MA' as const,
    zip: '02110',
    country: 'USA' as const,
  },
};
const taskQueue = `plugin-${randomUUID()}`;
let exchange: Stub;
let connection: Connection;
let client: Client;
let files: string;
let worker: ChildProcess;
let output = '';

/** The least that our three workflows need of an exchange. */
function answer({ method, url }: StubRequest) {
  const bulk = {
    requestId: 'r-1',
    status: 'completed',
    result: `${exchange.url}/result`,
  };
  const query = {
    requestId: 'q-1',
    status: 'completed',
    startedAt: '2026-01-01T00:00:00Z',
    sources: [
      { type: 'hie', status: 'completed', startedAt: '2026-01-01T00:00:00Z' },
    ],
  };
  if (url === '/upload') return { status: 200, body: {} };
  if (url === '/result')
    return {
      status: 200,
      body: `firstName,patientId,metriportId,status,reason\n${NAME},p-1,p-1,created,\n`,
      headers: { 'content-type': 'text/csv' },
    };
  if (/\/bulk/.test(url) && method === 'POST')
    return {
      status: 200,
      body: { ...bulk, status: 'waiting', uploadUrl: `${exchange.url}/upload` },
    };
  if (/\/bulk/.test(url)) return { status: 200, body: bulk };
  if (/\/cohort\//.test(url))
    return { status: 200, body: { patients: [], meta: { itemsInTotal: 0 } } };
  if (/\/network\/query/.test(url)) return { status: 200, body: query };
  if (/\/consolidated\/count/.test(url))
    return { status: 200, body: { total: 0, resources: {} } };
  if (/\/document/.test(url)) return { status: 200, body: { documents: [] } };
  if (/\/patient/.test(url))
    return {
      status: 201,
      body: { id: 'p-1', ...PATIENT, facilityIds: ['f-1'], eTag: 'e' },
    };
  return { status: 404, body: {} };
}

beforeAll(async () => {
  installTestRuntime();
  const address = inject('temporalAddress');
  exchange = await startStub();
  exchange.answer = answer;
  files = pathToFileURL(await makeTestFolder()).href;
  const namespace = await createTestNamespace();
  connection = await openConnection({ address });
  client = new Client({
    connection,
    namespace,
    plugins: [new ExchangePlugin({ dataKeys: TEST_DATA_KEYS })],
  });
  const args = [
    address,
    namespace,
    taskQueue,
    exchange.url,
    TEST_DATA_KEYS,
    files,
  ];
  worker = spawn(
    process.execPath,
    ['test/workflows/plugin-process.ts', ...args],
    { cwd: ROOT },
  );
  for (const stream of [worker.stdout, worker.stderr])
    stream?.on('data', (data) => {
      output += data;
    });
  await vi.waitFor(() => expect(output).toContain('the worker polls'), {
    timeout: 240_000,
  });
});
afterAll(async () => {
  worker.kill('SIGTERM');
  if (worker.exitCode === null) await once(worker, 'exit');
  await Promise.all([connection.close(), exchange.close()]);
});

const workflowId = () => `plugin/${randomUUID()}`;

test('a patient is onboarded on one’s own queue, and the client reads its status', async () => {
  const handle = await client.workflow.start<typeof patientOnboarding>(
    'patientOnboarding',
    {
      taskQueue,
      workflowId: workflowId(),
      args: [
        {
          orchestrationId: 'o-1',
          exchange: API_KEY_ACCESS,
          facilityId: 'f-1',
          patient: PATIENT,
          sources: ['hie'],
          timing: { pollFirstMs: 100 },
        },
      ],
    },
  );
  await handle.signal(patientOnboardingMessages.intakeReceived, {
    messageId: 'm-1',
  });
  expect(await handle.result()).toMatchObject({
    patientId: 'p-1',
    sources: [{ outcome: 'completed' }],
  });
  expect(await handle.query(patientOnboardingMessages.status)).toMatchObject({
    phase: 'ended',
    intakes: 1,
  });
});

test('a panel is onboarded on one’s own queue, from the file that the client has put', async () => {
  const store = await openFileStore(files, parseKeyRing(TEST_DATA_KEYS));
  const file: FileRef = await store.put(
    'upload',
    Readable.from([Buffer.from(`firstName\n${NAME}\n`)], { objectMode: false }),
    'text/csv',
  );
  const handle = await client.workflow.start<typeof bulkOnboarding>(
    'bulkOnboarding',
    {
      taskQueue,
      workflowId: workflowId(),
      args: [
        {
          exchange: API_KEY_ACCESS,
          dryRun: false,
          file,
          rows: 1,
          timing: { pollFirstMs: 100 },
        },
      ],
    },
  );
  expect(await handle.result()).toMatchObject({
    status: 'completed',
    outcome: { counts: { created: 1 } },
  });
  expect(await handle.query(bulkOnboardingMessages.status)).toMatchObject({
    phase: 'ended',
  });
  const uploaded = exchange.requests.find(({ url }) => url === '/upload');
  expect(uploaded?.body).toContain(NAME);
});

test('a cohort is monitored on one’s own queue', async () => {
  const handle = await client.workflow.start<typeof cohortMonitoring>(
    'cohortMonitoring',
    {
      taskQueue,
      workflowId: workflowId(),
      args: [
        {
          exchange: API_KEY_ACCESS,
          cohortId: 'c-1',
          kind: 'hie',
          frequency: 'weekly',
          queriesPerMinute: 60,
        },
      ],
    },
  );
  expect(await handle.result()).toMatchObject({
    state: 'completed',
    patients: 0,
  });
  expect(await handle.query(cohortMonitoringMessages.status)).toMatchObject({
    cohortId: 'c-1',
  });
});

test('neither Temporal nor the log of the worker shows a name, although the user’s own code puts it into a failure', async () => {
  const handle = await client.workflow.start<typeof ownWorkflow>(
    'ownWorkflow',
    {
      taskQueue,
      workflowId: workflowId(),
      args: [NAME],
    },
  );
  expect(await handle.result()).toBe(`done for ${NAME}`);
  await expect
    .poll(() => output, { timeout: 240_000 })
    .toContain('Activity failed');
  expect(output).toContain('NoResult');
  expect(output).not.toContain(NAME);
  const dump = await dumpTemporal(client);
  expect(dump).toContain(handle.workflowId);
  expect(dump).not.toContain(NAME);
});

test('a history of the worker replays with the plugin, also from code that was bundled with it', async () => {
  const plugin = new ExchangePlugin({ dataKeys: TEST_DATA_KEYS });
  const handle = await client.workflow.start<typeof ownWorkflow>(
    'ownWorkflow',
    {
      taskQueue,
      workflowId: workflowId(),
      args: [NAME],
    },
  );
  await handle.result();
  const history = await handle.fetchHistory();
  const workflowsPath = fileURLToPath(
    new URL('./plugin-workflows.ts', import.meta.url),
  );
  await Worker.runReplayHistory(
    { workflowsPath, plugins: [plugin] },
    history,
    handle.workflowId,
  );
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath,
    plugins: [plugin],
  });
  expect(workflowBundle.code).toContain('PayloadNotEncrypted');
  await Worker.runReplayHistory(
    { workflowBundle, plugins: [plugin] },
    history,
    handle.workflowId,
  );
});

test('an activity with the name of one of ours, and a short key, are refused', async () => {
  // The replays have ended the one of this process, and the plugin would make
  // one whose logs the next file could not take.
  installTestRuntime();
  const exchangeOptions = {
    exchange: { baseUrl: 'http://127.0.0.1:1', apiKey: 'k' },
  };
  const plugin = new ExchangePlugin({
    dataKeys: TEST_DATA_KEYS,
    worker: { ...exchangeOptions, idHmacKey: 'k'.repeat(16) },
  });
  const configured = plugin.configureWorker({
    taskQueue,
    activities: { createPatient: async () => 1 },
  });
  await expect(configured).rejects.toThrow(
    'Rename these activities, because ours have the same names: createPatient',
  );
  await plugin.close();
  expect(
    () =>
      new ExchangePlugin({
        dataKeys: TEST_DATA_KEYS,
        worker: { ...exchangeOptions, idHmacKey: 'short' },
      }),
  ).toThrow('at least 16');
});
