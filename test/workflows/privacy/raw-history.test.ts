import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, type Connection } from '@temporalio/client';
import { ApplicationFailure, TypedSearchAttributes } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openConnection } from '../../../src/temporal/connection.ts';
import { createDataConverter } from '../../../src/temporal/data-converter.ts';
import { registerSearchAttributes } from '../../../src/temporal/register-search-attributes.ts';
import { searchAttribute } from '../../../src/temporal/search-attributes.ts';
import { loadWorkflowBundle } from '../../../src/temporal/workflow-bundle.ts';
import { dumpTemporal } from '../../support/scan-temporal.ts';
import { takeRuntimeLogs } from '../../support/temporal-runtime.ts';
import { testKeyRing } from '../../support/test-keys.ts';
import {
  askUpdate,
  leakyWorkflow,
  tellSignal,
  toldQuery,
} from './workflows.ts';

// Fresh for each run: the last test leaves a readable name on the server on
// purpose.
const WORDS = ['Lieselotte', 'Hottenrott'].map(
  (word) => `${word}${randomUUID().slice(0, 8)}`,
);
const NAME = WORDS.join(' ');
/** The name, and texts of ours that stand beside it. */
const UNREADABLE = [
  ...WORDS,
  'failed for',
  'raw-history.test.ts',
  'summary of',
];
const address = inject('temporalAddress');
const namespace = 'default';

describe('what Temporal holds of a workflow that is full of a name', () => {
  const dataConverter = createDataConverter(testKeyRing());
  const taskQueue = `privacy-${randomUUID()}`;
  const workflowId = `privacy/${randomUUID()}`;
  let connection: Connection;
  let native: NativeConnection;
  let client: Client;
  let failure: unknown;
  let logs: ReturnType<typeof takeRuntimeLogs>;

  beforeAll(async () => {
    logs = takeRuntimeLogs();
    connection = await openConnection({ address });
    await registerSearchAttributes(connection, namespace);
    await registerSearchAttributes(connection, namespace);
    native = await NativeConnection.connect({ address });
    client = new Client({ connection, namespace, dataConverter });
    const worker = await Worker.create({
      connection: native,
      namespace,
      taskQueue,
      dataConverter,
      workflowBundle: await loadWorkflowBundle(
        fileURLToPath(new URL('./workflows.ts', import.meta.url)),
      ),
      activities: {
        greet: async (name: string) => {
          throw ApplicationFailure.retryable(
            `activity failed for ${name}`,
            'Leaky',
            { name },
          );
        },
      },
    });
    await worker.runUntil(async () => {
      const handle = await client.workflow.start(leakyWorkflow, {
        args: [NAME],
        taskQueue,
        workflowId,
        memo: { name: NAME },
        staticSummary: `summary of ${NAME}`,
        staticDetails: `details of ${NAME}`,
        typedSearchAttributes: new TypedSearchAttributes([
          { key: searchAttribute.requestId, value: 'request-1' },
          { key: searchAttribute.sources, value: ['hie', 'lab'] },
        ]),
      });
      await handle.executeUpdate(askUpdate, { args: [NAME] });
      await handle
        .executeUpdate(askUpdate, { args: ['refuse'] })
        .catch(() => undefined);
      await handle.signal(tellSignal, NAME);
      failure = await handle.result().catch((error: unknown) => error);
      expect(await handle.query(toldQuery)).toBe(NAME);
    });
  });
  afterAll(() => {
    logs?.stop();
    return Promise.all([connection?.close(), native?.close()]);
  });

  test('nothing of the name is readable: arguments, signals, updates, memo, summaries, failures, stacks', async () => {
    const dump = await dumpTemporal(client);
    expect(dump).toContain(workflowId);
    expect(dump).toContain('request-1');
    expect(dump).toContain('Encoded failure');
    for (const word of UNREADABLE) expect(dump).not.toContain(word);
  });

  test('the logs say what failed and where, and nothing of the name', () => {
    const failed = logs.lines
      .map((line) => JSON.parse(line))
      .filter((line) => /failed/.test(line.msg));
    expect(failed).toContainEqual(
      expect.objectContaining({
        msg: 'Activity failed',
        workflowId,
        activityType: 'greet',
        failure: expect.objectContaining({
          name: 'ApplicationFailure',
          type: 'Leaky',
          stack: expect.stringContaining('raw-history.test.ts'),
        }),
      }),
    );
    expect(failed).toContainEqual(
      expect.objectContaining({ msg: 'Workflow failed', workflowId }),
    );
    for (const word of WORDS) expect(logs.lines.join('')).not.toContain(word);
  });

  test('a client that holds the key reads everything, failures included', async () => {
    expect(failure).toMatchObject({
      cause: { message: `workflow failed for ${NAME}`, type: 'Leaky' },
    });
    const { memo } = await client.workflow.getHandle(workflowId).describe();
    expect(memo).toEqual({ name: NAME });
  });

  test('the search can find it: without the data converter every such word is readable', async () => {
    const plain = new Client({ connection, namespace });
    const [first = '', last = ''] = WORDS;
    const handle = await plain.workflow.start(leakyWorkflow, {
      args: [NAME],
      taskQueue: `${taskQueue}-without-worker`,
      workflowId: `${workflowId}/plain`,
      memo: {
        failure: `failed for ${first}`,
        stack: `at raw-history.test.ts ${last}`,
      },
      staticSummary: `summary of ${NAME}`,
    });
    await expect.poll(() => dumpTemporal(plain)).toContain(NAME);
    const dump = await dumpTemporal(plain);
    for (const word of UNREADABLE) expect(dump).toContain(word);
    await handle.terminate();
  });
});
