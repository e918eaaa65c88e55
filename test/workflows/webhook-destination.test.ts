import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createWebhookActivities } from '../../src/activities/exchange/webhook-delivery.ts';
import {
  TASK_QUEUES,
  webhookDestinationWorkflowId,
} from '../../src/contract/temporal.ts';
import {
  WEBHOOK_DESTINATION_MESSAGES as MESSAGES,
  type WebhookDestinationProgress,
} from '../../src/contract/webhook-destination-workflow.ts';
import { findDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import {
  addEvent,
  createDeliveries,
  startReceiver,
} from '../support/events-environment.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
} from '../support/network-query-environment.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { eventually } from './network-query-environment.ts';

installTestRuntime();
let environment: QueryEnvironment;
let temporal: Client;
let close: () => Promise<void>;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  const [environmentOfTest, namespace] = await Promise.all([
    createQueryEnvironment(),
    createTestNamespace(),
  ]);
  environment = environmentOfTest;
  const address = inject('temporalAddress');
  const dataConverter = createDataConverter(testKeyRing());
  const connection = await openConnection({ address });
  const native = await NativeConnection.connect({ address });
  temporal = new Client({ connection, namespace, dataConverter });
  const { store } = environment;
  const { delivery } = createDeliveries(store, temporal);
  const workers = await createWorkers({
    connection: native,
    namespace,
    dataConverter,
    workflowBundle: await workflowBundle(),
    activities: {
      [TASK_QUEUES.exchange]: { none: () => undefined },
      [TASK_QUEUES.webhooks]: createWebhookActivities({ store, delivery }),
    },
  });
  const running = workers.map((worker) => worker.run());
  close = async () => {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    await Promise.all([
      connection.close(),
      native.close(),
      environment.close(),
    ]);
  };
});
afterAll(async () => {
  await Promise.all(closing.map((closeOne) => closeOne()));
  await close();
});

/** An account whose receiver answers 500 while `isDown`. */
async function accountWithReceiver() {
  const { store } = environment;
  const state = { isDown: false };
  const receiver = await startReceiver((_, response) => {
    response.writeHead(state.isDown ? 500 : 200).end();
  });
  closing.push(receiver.close);
  const { accountId } = await environment.addAccount({}, receiver.url);
  const { webhookDispatcher } = createDeliveries(store, temporal);
  const destinationId =
    (await store.asAccount(accountId, findDestination))?.id ?? '';
  return {
    accountId,
    webhookDispatcher,
    receiver,
    state,
    event: (patientId: string = uuidv7()) =>
      addEvent(store, accountId, patientId),
    workflow: temporal.workflow.getHandle(
      webhookDestinationWorkflowId(accountId, destinationId),
    ),
    rows: () =>
      store.asAccount(accountId, (tx) =>
        tx.db.selectFrom('event').selectAll().orderBy('seq').execute(),
      ),
  };
}

const runsOf = async (
  accountId: string,
): Promise<{ workflowId: string; isOpen: boolean }[]> => {
  const runs = [];
  for await (const { workflowId, status } of temporal.workflow.list())
    if (workflowId.includes(accountId))
      runs.push({ workflowId, isOpen: status.name === 'RUNNING' });
  return runs;
};

describe('a destination that is down while hundreds of events occur', () => {
  test('costs one workflow and few requests; then it gets them all, in order and once, and nothing remains open', async () => {
    const {
      accountId,
      webhookDispatcher,
      receiver,
      state,
      event,
      workflow,
      rows,
    } = await accountWithReceiver();
    state.isDown = true;
    const patients = Array.from({ length: 60 }, () => uuidv7());
    const ids: string[] = [];
    for (let round = 0; round < 5; round++) {
      const committed: string[] = [];
      for (const patientId of patients) committed.push(await event(patientId));
      ids.push(...committed);
      webhookDispatcher.send(accountId, committed);
      await webhookDispatcher.drain();
    }
    // The first attempts in progress when the fifth failed, and perhaps a
    // probe.
    expect(receiver.received.length).toBeLessThan(20);
    expect(
      await workflow.query<WebhookDestinationProgress>(MESSAGES.status),
    ).toMatchObject({ delivered: 0 });
    const failed = receiver.received.length;

    state.isDown = false;
    await workflow.signal(MESSAGES.deliverNow);
    const end = await workflow.result();
    expect(end).toMatchObject({ state: 'empty', delivered: ids.length });

    const delivered = receiver.received.slice(failed).map(({ id }) => id);
    expect([...delivered].sort()).toEqual([...ids].sort());
    for (const patientId of patients) {
      const ofPatient = (await rows())
        .filter((row) => row.patient_id === patientId)
        .map(({ id }) => id);
      expect(delivered.filter((id) => ofPatient.includes(id))).toEqual(
        ofPatient,
      );
    }
    expect(new Set((await rows()).map(({ status }) => status))).toEqual(
      new Set(['delivered']),
    );
    await eventually(async () =>
      (await runsOf(accountId)).every(({ isOpen }) => !isOpen),
    );
    expect(
      new Set((await runsOf(accountId)).map(({ workflowId }) => workflowId))
        .size,
    ).toBe(1);
    expect(await runsOf(accountId)).toHaveLength(1);
  });
});
