import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { request } from 'undici';
import { v7 as uuidv7 } from 'uuid';
import { createLogger } from '../../src/lib/logger.ts';
import { installTemporalRuntime } from '../../src/temporal/runtime.ts';
import { connectTemporal } from '../../src/temporal/worker-connection.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import type { TestStack } from '../../test/support/stack.ts';
import type { Webhooks } from '../interactive/webhooks.ts';
import type { bareQuery } from './bare-workflow.ts';

const QUEUE = 'bench-bare';

const createBareActivities = (webhookUrl: string) => ({
  async announce(requestId: string): Promise<void> {
    const { body } = await request(webhookUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ meta: { requestId } }),
    });
    await body.dump();
  },
});

/**
 * A worker of this process on the stack's Temporal server, with a workflow of
 * one activity that sends a request to the receiver of the webhooks.
 */
export async function startBare(
  {
    connection,
    secrets,
    temporal,
  }: Pick<TestStack, 'connection' | 'secrets' | 'temporal'>,
  webhooks: Webhooks,
) {
  installTemporalRuntime(createLogger('bench', 'warn'), undefined);
  const namespace = connection.temporalNamespace;
  const workerConnection = await connectTemporal({
    TEMPORAL_ADDRESS: connection.temporalAddress,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_API_KEY: undefined,
    DATA_KEYS: secrets.dataKeys,
  });
  const worker = await Worker.create({
    connection: workerConnection,
    namespace,
    taskQueue: QUEUE,
    workflowBundle: await loadWorkflowBundle(
      join(import.meta.dirname, 'bare-workflow.ts'),
    ),
    activities: createBareActivities(webhooks.url),
  });
  const running = worker.run();
  const client = new Client({ connection: temporal.connection, namespace });
  return {
    /** Milliseconds from asking for the start to the request's arrival. */
    async run(): Promise<number> {
      const requestId = uuidv7();
      const began = performance.now();
      await client.workflow.start<typeof bareQuery>('bareQuery', {
        workflowId: `bare/${requestId}`,
        taskQueue: QUEUE,
        args: [requestId],
      });
      return (await webhooks.arrivalOf(requestId)) - began;
    },
    async stop(): Promise<void> {
      worker.shutdown();
      await running;
      await workerConnection.close();
    },
  };
}
