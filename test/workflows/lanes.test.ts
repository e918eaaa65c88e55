import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { v7 as uuidv7 } from 'uuid';
import { expect, inject, test } from 'vitest';
import {
  type MessageTransmissionInput,
  RECEIPT_WITHIN_MS,
  type TransmissionStep,
} from '../../src/contract/messages-workflow.ts';
import {
  HISTORY_EVENTS_MAX,
  NETWORK_QUERY_MESSAGES,
  type NetworkQueryInput,
  type SourceStep,
  type SourceStepInput,
} from '../../src/contract/network-query-workflow.ts';
import {
  messageTransmissionWorkflowId,
  networkQueryWorkflowId,
  PRIORITY,
  type Priority,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import { startOnce } from '../../src/exchange/platform/workflows/start-workflow.ts';
import { SOURCE_RETRIES } from '../../src/exchange/queries/network-query/rules/retries.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { activitySlots, createWorkers } from '../../src/temporal/workers.ts';
import { closedGate } from '../support/gate.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { completed, eventually } from './network-query-environment.ts';

installTestRuntime();
const ABOUT_LAB: Omit<NetworkQueryInput, 'accountId' | 'requestId'> = {
  run: 0,
  sources: [{ source: 'lab', attempt: 1 }],
  steering: SOURCE_RETRIES,
  historyEventsMax: HISTORY_EVENTS_MAX,
};

test('a query that a caller waits for ends while background queries occupy every slot of their lane', async () => {
  const address = inject('temporalAddress');
  const namespace = await createTestNamespace();
  const dataConverter = createDataConverter(testKeyRing());
  const [connection, native] = await Promise.all([
    openConnection({ address }),
    NativeConnection.connect({ address }),
  ]);
  const client = new Client({ connection, namespace, dataConverter });
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = new Set<string>();
  const answers = { askSource: async (): Promise<SourceStep> => completed(1) };
  const holds = {
    askSource: async ({ requestId }: SourceStepInput): Promise<SourceStep> => {
      held.add(requestId);
      await released;
      return completed(1);
    },
  };
  const none = { none: () => undefined };
  const workers = await createWorkers({
    connection: native,
    namespace,
    dataConverter,
    workflowBundle: await workflowBundle(),
    activities: {
      exchange: none,
      'source-lab': answers,
      'background-exchange': none,
      'background-source-lab': holds,
    },
  });
  const running = workers.map((worker) => worker.run());
  const start = async (priority: Priority) => {
    const requestId = uuidv7();
    const id = networkQueryWorkflowId(requestId);
    const accountId = uuidv7();
    const input: NetworkQueryInput = { ...ABOUT_LAB, accountId, requestId };
    const texts = { summary: 'A query', details: 'of one source' };
    const type = WORKFLOW_TYPES.networkQuery;
    await startOnce(client, {
      type,
      id,
      input,
      accountId,
      priority,
      ...texts,
      isOpen: async () => true,
    });
    return client.workflow.getHandle(id);
  };
  try {
    const slots = activitySlots('background-source-lab');
    const background = await Promise.all(
      Array.from({ length: slots + 2 }, (_, index) =>
        start(index % 2 === 0 ? PRIORITY.bulk : PRIORITY.monitoring),
      ),
    );
    await eventually(() => held.size === slots);
    const interactive = await start(PRIORITY.interactive);
    expect(await interactive.result()).toMatchObject({ status: 'completed' });
    expect(held.size).toBe(slots);
    release();
    for (const query of background)
      expect(await query.result()).toMatchObject({ status: 'completed' });
  } finally {
    release();
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    await Promise.all([connection.close(), native.close()]);
  }
});

test('a source is given up at once while a mail server hangs in 45 messages', async () => {
  const address = inject('temporalAddress');
  const namespace = await createTestNamespace();
  const dataConverter = createDataConverter(testKeyRing());
  const [connection, native] = await Promise.all([
    openConnection({ address }),
    NativeConnection.connect({ address }),
  ]);
  const client = new Client({ connection, namespace, dataConverter });
  const partner = closedGate();
  const source = closedGate();
  const held = new Set<string>();
  const hangs = {
    transmitMessage: async ({
      messageId,
    }: MessageTransmissionInput): Promise<TransmissionStep> => {
      held.add(messageId);
      await partner.passed;
      return { state: 'completed' };
    },
  };
  const workers = await createWorkers({
    connection: native,
    namespace,
    dataConverter,
    workflowBundle: await workflowBundle(),
    activities: {
      exchange: { ...hangs, recordFailedAttempt: async () => undefined },
      partners: hangs,
      'source-lab': {
        askSource: async () => {
          await source.passed;
          return completed(1);
        },
      },
    },
  });
  const running = workers.map((worker) => worker.run());
  const texts = {
    summary: 'Test',
    details: 'of lanes',
    isOpen: async () => true,
  };
  const priority = PRIORITY.interactive;
  const start = async (
    type: 'messageTransmission' | 'networkQuery',
    id: string,
    input: object,
  ) => {
    await startOnce(client, {
      type,
      id,
      input,
      accountId: uuidv7(),
      priority,
      ...texts,
    });
    return client.workflow.getHandle(id);
  };
  try {
    const messages = await Promise.all(
      Array.from({ length: 45 }, () => {
        const messageId = uuidv7();
        const id = messageTransmissionWorkflowId(messageId);
        return start('messageTransmission', id, {
          accountId: uuidv7(),
          messageId,
          receiptWithinMs: RECEIPT_WITHIN_MS,
        });
      }),
    );
    await eventually(() => held.size >= activitySlots('partners'));
    const requestId = uuidv7();
    const query = await start(
      'networkQuery',
      networkQueryWorkflowId(requestId),
      {
        ...ABOUT_LAB,
        accountId: uuidv7(),
        requestId,
      },
    );
    await query.executeUpdate(NETWORK_QUERY_MESSAGES.giveUpSource, {
      args: [{ source: 'lab' }],
    });
    expect(await query.result()).toMatchObject({ status: 'failed' });
    expect(held.size).toBe(activitySlots('partners'));
    partner.open();
    for (const message of messages)
      expect(await message.result()).toMatchObject({ state: 'completed' });
  } finally {
    partner.open();
    source.open();
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    await Promise.all([connection.close(), native.close()]);
  }
});
