import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { systemEnvironment } from '../../src/config.ts';
import {
  RECONCILE_LOOP_MESSAGES,
  type ReconcileLoopStatus,
} from '../../src/contract/reconcile-workflow.ts';
import { RECONCILE_WORKFLOW_ID } from '../../src/contract/temporal.ts';
import {
  createTemporalClient,
  type TemporalClient,
} from '../../src/temporal/client.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { TEST_DATA_KEYS, TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

const NOWHERE = 'http://127.0.0.1:9';

describe('the worker as a process', () => {
  let folder: string;
  let environment: Record<string, string>;
  let temporal: TemporalClient;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worker-process-'));
    const namespace = await createTestNamespace();
    environment = {
      ...systemEnvironment(),
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: namespace,
      DATA_KEYS: TEST_DATA_KEYS,
      ID_HMAC_KEY: TEST_ID_HMAC_KEY,
      LINK_SIGNING_KEY: 'link-signing-key-of-the-tests',
      INTERNAL_TOKEN_KEY: 'internal-token-key-of-the-tests',
      AUDIT_KEY: 'audit-key-of-the-tests-only',
      DATABASE_URL: (await createTestDatabase()).databaseUrl,
      BLOB_STORE: pathToFileURL(join(folder, 'blobs')).href,
      ORCHESTRATOR_FILES: pathToFileURL(join(folder, 'orchestrator-files'))
        .href,
      PUBLIC_BASE_URL: NOWHERE,
      EXCHANGE_BASE_URL: NOWHERE,
      HIE_BASE_URL: NOWHERE,
      PHARMACY_BASE_URL: NOWHERE,
      LAB_BASE_URL: NOWHERE,
      RECONCILE_INTERVAL_SECONDS: '1',
    };
    temporal = await createTemporalClient({
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: namespace,
      TEMPORAL_API_KEY: undefined,
      DATA_KEYS: TEST_DATA_KEYS,
    });
  });
  afterAll(async () => {
    await temporal?.connection.close();
    await rm(folder, { recursive: true, force: true });
  });

  function start(changes: Record<string, string> = {}) {
    const child = spawn(process.execPath, ['src/worker.ts'], {
      env: { ...environment, ...changes },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => (output += chunk));
    return { child, output: () => output };
  }
  const readyInfo = async (child: ChildProcess): Promise<{ probes: string }> =>
    ((await once(child, 'message')) as [{ info: { probes: string } }])[0].info;

  test('it serves every queue, keeps reconcile running with metrics, reports ready and ends cleanly', async () => {
    const { child, output } = start();
    const { probes } = await readyInfo(child);
    await expect
      .poll(async () => (await request(`${probes}/ready`)).statusCode)
      .toBe(200);
    const status = () =>
      temporal.workflow
        .getHandle(RECONCILE_WORKFLOW_ID)
        .query<ReconcileLoopStatus>(RECONCILE_LOOP_MESSAGES.status);
    await expect.poll(status, { timeout: 240_000 }).toMatchObject({
      intervalMs: 1_000,
      last: { kinds: {}, isBehind: false },
    });
    expect(await (await request(`${probes}/metrics`)).body.text()).toMatch(
      /^reconcile_oldest_seconds\{kind="network queries",process="worker"\} 0$/m,
    );

    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0], output()).toBe(0);
    expect(output()).toContain('"msg":"stopped"');
  });

  test('a process that serves the orchestrator alone needs neither database nor sources', async () => {
    const { child, output } = start({
      WORKER_QUEUES: 'orchestrator',
      DATABASE_URL: '',
      BLOB_STORE: '',
      HIE_BASE_URL: '',
      PHARMACY_BASE_URL: '',
      LAB_BASE_URL: '',
    });
    await readyInfo(child);
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0], output()).toBe(0);
  });

  test('it ends when the process that started it is gone', async () => {
    const { child, output } = start({ WORKER_QUEUES: 'orchestrator' });
    await readyInfo(child);
    child.disconnect();
    expect((await once(child, 'exit'))[0], output()).toBe(0);
  });

  test.each([
    [{ WORKER_QUEUES: 'exchange lab' }, /^WORKER_QUEUES: unknown: lab/m],
    [{ LAB_BASE_URL: '' }, /^ {2}LAB_BASE_URL: is missing/m],
  ])(
    'a fault of the configuration is stated in plain words: %j',
    async (changes, message) => {
      const { child, output } = start(changes);
      expect((await once(child, 'close'))[0]).toBe(2);
      expect(output()).toMatch(message);
    },
  );
});
