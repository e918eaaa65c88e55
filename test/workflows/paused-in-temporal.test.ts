import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, onTestFinished, test } from 'vitest';
import {
  HISTORY_EVENTS_MAX,
  type NetworkQueryInput,
} from '../../src/contract/network-query-workflow.ts';
import {
  networkQueryWorkflowId,
  PRIORITY,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import { startOnce } from '../../src/exchange/platform/workflows/start-workflow.ts';
import { commandWorkflow } from '../../src/exchange/platform/workflows/workflow-command.ts';
import { SOURCE_RETRIES } from '../../src/exchange/queries/network-query/rules/retries.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { replayOpenRuns } from '../../src/temporal/replay-open.ts';
import { readTroubles } from '../../src/temporal/troubles.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { eventually } from './network-query-environment.ts';

installTestRuntime();
const dataConverter = createDataConverter(testKeyRing());

/** A query that waits for its source, and is paused in Temporal. */
async function pausedQuery() {
  const namespace = await createTestNamespace();
  const address = inject('temporalAddress');
  const [connection, native] = await Promise.all([
    openConnection({ address }),
    NativeConnection.connect({ address }),
  ]);
  const client = Object.assign(
    new Client({ connection, namespace, dataConverter }),
    { connection },
  );
  const requestId = randomUUID();
  const workflowId = networkQueryWorkflowId(requestId);
  const input: NetworkQueryInput = {
    accountId: randomUUID(),
    requestId,
    run: 0,
    sources: [{ source: 'lab', attempt: 1 }],
    steering: SOURCE_RETRIES,
    historyEventsMax: HISTORY_EVENTS_MAX,
  };
  await startOnce(client, {
    type: WORKFLOW_TYPES.networkQuery,
    id: workflowId,
    input,
    accountId: input.accountId,
    priority: PRIORITY.interactive,
    summary: 'A query',
    isOpen: async () => true,
  });
  const worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue: TASK_QUEUES.exchange,
    workflowBundle: await workflowBundle(),
    dataConverter,
  });
  const handle = client.workflow.getHandle(workflowId);
  await worker.runUntil(() =>
    eventually(
      async () => (await handle.describe()).raw.pendingActivities?.length === 1,
    ),
  );
  await native.close();
  await connection.workflowService.pauseWorkflowExecution({
    namespace,
    workflowId,
    identity: 'R. Ortiz',
    reason: 'maintenance',
    requestId: randomUUID(),
  });
  return { client, connection, namespace, workflowId };
}

test('a run that is paused in Temporal is named by ops, replayed before a deployment, and refuses commands with the reason', async () => {
  const { client, connection, namespace, workflowId } = await pausedQuery();
  onTestFinished(() => connection.close());

  await expect
    .poll(() => readTroubles(client))
    .toMatchObject({
      namespace,
      paused: [{ type: 'networkQuery', workflowId }],
      failing: [],
      hanging: [],
      skipped: [],
    });
  const replayed = await replayOpenRuns(client, {
    workflowBundle: await workflowBundle(),
    dataConverter,
  });
  expect(replayed).toEqual([
    { workflowType: 'networkQuery', replayed: 1, left: 0, failures: [] },
  ]);
  await expect(
    commandWorkflow(client, workflowId, 'cancelQuery'),
  ).rejects.toMatchObject({
    status: 409,
    message:
      'An operator has paused this work in Temporal; repeat the operation when it goes on',
  });
});
