import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { HISTORY_EVENTS_MAX } from '../../src/contract/network-query-workflow.ts';
import {
  networkQueryWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import { SOURCE_RETRIES } from '../../src/exchange/queries/network-query/rules/retries.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { completed, scriptedSources } from './network-query-environment.ts';

const HEARTBEATS = 30;
const EVERY_MS = 100;
const SENT_EVERY_MS = 10_000;

test('of the heartbeats of a source’s step, the server gets one every ten seconds', async () => {
  const namespace = await createTestNamespace();
  const dataConverter = createDataConverter(testKeyRing());
  const address = inject('temporalAddress');
  const [connection, native] = await Promise.all([
    openConnection({ address }),
    NativeConnection.connect({ address }),
  ]);
  const { workflow } = new Client({ connection, namespace, dataConverter });
  const arrived = new Set<string>();
  let beatForMs = 0;
  const requestId = randomUUID();
  const handle = workflow.getHandle(networkQueryWorkflowId(requestId));

  const { activities } = scriptedSources({
    ask: {
      'lab/1': [
        async () => {
          const beganAt = Date.now();
          for (let beat = 0; beat < HEARTBEATS; beat += 1) {
            Context.current().heartbeat(beat);
            await delay(EVERY_MS);
            const { raw } = await handle.describe();
            for (const { lastHeartbeatTime: at } of raw.pendingActivities ?? [])
              if (at) arrived.add(`${at.seconds}.${at.nanos}`);
          }
          beatForMs = Date.now() - beganAt;
          return completed(1);
        },
      ],
    },
  });
  const workers = await createWorkers({
    connection: native,
    namespace,
    dataConverter,
    workflowBundle: await workflowBundle(),
    activities: {
      [TASK_QUEUES.exchange]: activities,
      [TASK_QUEUES.source('lab')]: activities,
    },
  });
  const running = workers.map((worker) => worker.run());
  try {
    await workflow.start(WORKFLOW_TYPES.networkQuery, {
      taskQueue: TASK_QUEUES.exchange,
      workflowId: handle.workflowId,
      args: [
        {
          accountId: 'account',
          requestId,
          run: 0,
          sources: [{ source: 'lab', attempt: 1 }],
          steering: SOURCE_RETRIES,
          historyEventsMax: HISTORY_EVENTS_MAX,
        },
      ],
    });
    await handle.result();
    expect(arrived.size).toBeGreaterThan(0);
    expect(arrived.size).toBeLessThanOrEqual(
      1 + Math.ceil(beatForMs / SENT_EVERY_MS),
    );
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    await Promise.all([connection.close(), native.close()]);
  }
});
