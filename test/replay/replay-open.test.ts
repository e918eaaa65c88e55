import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { TASK_QUEUES, WORKFLOW_TYPES } from '../../src/contract/temporal.ts';
import { replayReport } from '../../src/deployment/replay-report.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import {
  type ReplayedType,
  replayOpenRuns,
} from '../../src/temporal/replay-open.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { TEST_DATA_KEYS, testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';

installTestRuntime();
const BROKEN = fileURLToPath(new URL('./broken-workflows.ts', import.meta.url));
const WAIT = { timeout: 240_000 };
const dataConverter = createDataConverter(testKeyRing());
const address = inject('temporalAddress');
let namespace: string;
let client: Client;

const open = async (
  bundle: { code: string },
  perTypeMax?: number,
): Promise<ReplayedType[]> =>
  replayOpenRuns(client, { workflowBundle: bundle, dataConverter, perTypeMax });

beforeAll(async () => {
  namespace = await createTestNamespace();
  client = new Client({
    connection: await openConnection({ address }),
    namespace,
    dataConverter,
  });
  const native = await NativeConnection.connect({ address });
  let handedOver = 0;
  const workers = await createWorkers({
    connection: native,
    namespace,
    dataConverter,
    workflowBundle: await workflowBundle(),
    activities: {
      exchange: { none: () => undefined },
      partners: {
        transmitMessage: async () => {
          handedOver += 1;
          return { state: 'waiting' };
        },
      },
    },
  });
  const running = workers.map((worker) => worker.run());
  for (const messageId of ['a', 'b', 'c'])
    await start(WORKFLOW_TYPES.messageTransmission, messageId);
  await vi.waitFor(() => expect(handedOver).toBe(3), WAIT);
  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  await native.close();
  // Nothing has run of this one.
  await start(WORKFLOW_TYPES.dischargeFollowUp, 'd');
  await vi.waitFor(
    async () =>
      expect(
        await client.workflow.count('ExecutionStatus = "Running"'),
      ).toMatchObject({ count: 4 }),
    WAIT,
  );
});
afterAll(() => client.connection.close());

const start = (type: string, id: string) =>
  client.workflow.start(type, {
    taskQueue: TASK_QUEUES.exchange,
    workflowId: id,
    args: [
      {
        accountId: 'account',
        messageId: id,
        notificationId: id,
        startedAt: '2026-11-22T00:00:00Z',
      },
    ],
  });

test('open runs replay with the code that they run with, also those that have not begun', async () => {
  expect(await open(await workflowBundle())).toEqual([
    { workflowType: 'dischargeFollowUp', replayed: 1, left: 0, failures: [] },
    { workflowType: 'messageTransmission', replayed: 3, left: 0, failures: [] },
  ]);
  expect(await open(await workflowBundle(), 2)).toContainEqual(
    expect.objectContaining({
      workflowType: 'messageTransmission',
      replayed: 2,
      left: 1,
    }),
  );
});

test('a build with one step more is refused, with the reason for each run', async () => {
  const types = await open(await loadWorkflowBundle(BROKEN));
  const [, messages] = types;
  expect(messages?.failures.map(({ workflowId }) => workflowId).sort()).toEqual(
    ['a', 'b', 'c'],
  );
  expect(messages?.failures[0]?.reason).toMatch(/Nondeterminism/);
  const [, oldest] = await open(await loadWorkflowBundle(BROKEN), 1);
  expect(oldest).toMatchObject({ left: 2, failures: [{ workflowId: 'a' }] });
  const report = replayReport(types);
  expect(report.exitCode).toBe(3);
  expect(report.lines.join('\n')).toContain(
    '3 of 4 open runs would get stuck with this build',
  );
});

test('the command replays the server that TEMPORAL_ADDRESS names, and its exit code is the gate', async () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['src/replay.ts', '--open'],
    {
      cwd: root,
      env: {
        ...process.env,
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: namespace,
        DATA_KEYS: TEST_DATA_KEYS,
      },
    },
  );
  expect(stdout).toMatch(/messageTransmission +3 +0 +0/);
  expect(stdout).toContain('4 open runs replay with this build');
});
