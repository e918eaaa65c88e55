import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createEndpointActivities } from '../../src/activities/orchestrator/endpoints.ts';
import type { ExchangeClient } from '../../src/orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../src/orchestrator/client/failures.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';

installTestRuntime();
const taskQueue = 'own-calls';
let client: Client;
let close: () => Promise<void>;
const keys: (string | undefined)[] = [];

/** An exchange that creates cohorts, but for one that is called `fails`. */
const answering = {
  call: async (
    _: string,
    { body }: { body: { name: string } },
    options: { idempotencyKey?: string },
  ) => {
    keys.push(options.idempotencyKey);
    if (body.name === 'fails')
      throw new ExchangeCallError('rejected', 'createCohort: 400', {
        retryable: false,
      });
    return { status: 201, answer: { id: randomUUID(), name: body.name } };
  },
} as unknown as ExchangeClient;

beforeAll(async () => {
  const address = inject('temporalAddress');
  const namespace = await createTestNamespace();
  const [connection, native] = await Promise.all([
    openConnection({ address }),
    NativeConnection.connect({ address }),
  ]);
  client = new Client({ connection, namespace });
  const worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue,
    workflowsPath: fileURLToPath(
      new URL('../support/own-calls-workflow.ts', import.meta.url),
    ),
    activities: createEndpointActivities({
      clientFor: () => answering,
      idHmacKey: 'key-of-the-tests-only',
    }),
  });
  const running = worker.run();
  close = async () => {
    worker.shutdown();
    await running;
    await Promise.all([connection.close(), native.close()]);
  };
});
afterAll(() => close());

const execute = (
  workflow: string,
  workflowId: string = randomUUID(),
  args: unknown[] = [],
) => client.workflow.execute(workflow, { taskQueue, workflowId, args });

test('a second execution of a workflow id makes its own call, and does not get the response of the first', async () => {
  const workflowId = randomUUID();
  keys.length = 0;
  const first = await execute('oneCall', workflowId);
  const second = await execute('oneCall', workflowId);
  expect(first).not.toEqual(second);
  expect(keys[0]).not.toBe(keys[1]);
});

test.each([true, false])(
  'two calls under one name fail the workflow with what to do (at once: %s)',
  async (atOnce) => {
    keys.length = 0;
    await expect(
      execute('twoCalls', undefined, [atOnce]),
    ).rejects.toMatchObject({
      cause: {
        type: 'CallIdReused',
        message:
          "writes('create'): this name has been used by another call; give each call a name of its own",
      },
    });
    expect(new Set(keys).size).toBeLessThanOrEqual(1);
  },
);

test('a call that failed may be made again under its name', async () => {
  expect(await execute('againAfterFailure')).toMatchObject({ name: 'works' });
});
