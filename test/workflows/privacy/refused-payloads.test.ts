import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { CompleteAsyncError } from '@temporalio/activity';
import {
  Client,
  type Connection,
  type WorkflowHandle,
} from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parseKeyRing } from '../../../src/lib/key-ring.ts';
import { openConnection } from '../../../src/temporal/connection.ts';
import { createDataConverter } from '../../../src/temporal/data-converter.ts';
import { interceptionOptions } from '../../../src/temporal/workers.ts';
import { loadWorkflowBundle } from '../../../src/temporal/workflow-bundle.ts';
import { installTestRuntime } from '../../support/temporal-runtime.ts';
import { TEST_DATA_KEYS } from '../../support/test-keys.ts';
import {
  addSignal,
  addUpdate,
  believer,
  countQuery,
} from './refused-workflow.ts';

const address = inject('temporalAddress');
const namespace = 'default';
const WORKFLOWS = fileURLToPath(
  new URL('./refused-workflow.ts', import.meta.url),
);
const INJECTED = 'injected';

let connection: Connection;
let native: NativeConnection;
/** Someone who may write to the namespace and does not have the keys. */
let stranger: Client;

beforeAll(async () => {
  connection = await openConnection({ address });
  installTestRuntime();
  native = await NativeConnection.connect({ address });
  stranger = new Client({ connection, namespace });
});
afterAll(() => Promise.all([connection?.close(), native?.close()]));

/** Runs `work` while a worker with these keys serves a queue of its own. */
async function withWorker(
  dataKeys: string,
  work: (given: {
    owner: Client;
    taskQueue: string;
    refused: string[];
  }) => Promise<void>,
): Promise<void> {
  const dataConverter = createDataConverter(parseKeyRing(dataKeys));
  const taskQueue = `refused-${randomUUID()}`;
  const refused: string[] = [];
  const worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue,
    dataConverter,
    ...interceptionOptions((what) => void refused.push(what)),
    workflowBundle: await loadWorkflowBundle(WORKFLOWS),
    activities: {
      echo: async (value: string) => value,
      waitOutside: async () => {
        throw new CompleteAsyncError();
      },
    },
  });
  const owner = new Client({ connection, namespace, dataConverter });
  await worker.runUntil(work({ owner, taskQueue, refused }));
}

const asStranger = ({ workflowId }: WorkflowHandle) =>
  stranger.workflow.getHandle(workflowId);

/** The activity `waitOutside` is under way. */
const waitsOutside = (handle: WorkflowHandle) =>
  expect
    .poll(
      async () =>
        (await handle.describe()).raw.pendingActivities?.[0]?.activityType
          ?.name,
      {
        timeout: 240_000,
      },
    )
    .toBe('waitOutside');

describe('of someone who may write to the namespace and has no key', () => {
  test('a start fails at once, once, and says why', () =>
    withWorker(TEST_DATA_KEYS, async ({ owner, taskQueue, refused }) => {
      const workflowId = `refused/${randomUUID()}`;
      await stranger.workflow.start(believer, {
        args: [INJECTED],
        taskQueue,
        workflowId,
      });
      const handle = owner.workflow.getHandle(workflowId);
      await expect(handle.result()).rejects.toMatchObject({
        cause: {
          type: 'PayloadNotEncrypted',
          message: expect.stringContaining('not encrypted'),
        },
      });
      const { events } = await handle.fetchHistory();
      expect(
        events?.filter((event) => event.workflowTaskFailedEventAttributes),
      ).toEqual([]);
      expect(refused).toEqual(['input of believer']);
    }));

  test('signals are ignored, updates rejected, results of activities fail; the run goes on', () =>
    withWorker(TEST_DATA_KEYS, async ({ owner, taskQueue, refused }) => {
      const handle = await owner.workflow.start(believer, {
        args: ['first'],
        taskQueue,
        workflowId: `refused/${randomUUID()}`,
      });
      const injected = asStranger(handle);
      await injected.signal(addSignal, INJECTED);
      await expect(
        injected.executeUpdate(addUpdate, { args: [INJECTED] }),
      ).rejects.toThrow();
      await waitsOutside(handle);
      await stranger.activity.complete(
        { workflowId: handle.workflowId, activityId: '2' },
        INJECTED,
      );

      await handle.signal(addSignal, 'second');
      expect(
        await handle.executeUpdate(addUpdate, { args: ['third'] }),
      ).toMatch(/second.*third/s);
      expect(await handle.query(countQuery, 'first')).toBe(1);
      await handle.signal(addSignal, 'end');
      const believed = await handle.result();
      expect(believed).not.toContain(INJECTED);
      expect([...believed].sort()).toEqual([
        'echo',
        'end',
        expect.stringContaining('failed: Temporal holds a payload'),
        'first',
        'second',
        'third',
      ]);
      expect(refused).toEqual(
        expect.arrayContaining([
          'signal add of believer',
          'update addAndRead of believer',
        ]),
      );

      const { events } = await handle.fetchHistory();
      expect(
        events?.filter((event) => event.workflowTaskFailedEventAttributes),
      ).toEqual([]);
    }));

  test('an activity of its own does not run', () =>
    withWorker(TEST_DATA_KEYS, async ({ owner, taskQueue, refused }) => {
      const id = `refused/${randomUUID()}`;
      await stranger.activity.start('echo', {
        id,
        args: [INJECTED],
        taskQueue,
        startToCloseTimeout: '1 m',
      });
      await expect(owner.activity.getHandle(id).result()).rejects.toMatchObject(
        {
          cause: { type: 'PayloadNotEncrypted' },
        },
      );
      expect(refused).toEqual(['input of the activity echo']);
    }));

  test('a result that was not encrypted is not believed by a client', () =>
    withWorker(
      `${TEST_DATA_KEYS} accept-plain`,
      async ({ owner, taskQueue }) => {
        const plainWorker = await Worker.create({
          connection: native,
          namespace,
          taskQueue: `${taskQueue}-plain`,
          workflowBundle: await loadWorkflowBundle(WORKFLOWS),
          activities: {
            echo: async () => 'echo',
            waitOutside: async () => 'end',
          },
        });
        await plainWorker.runUntil(async () => {
          const workflowId = `refused/${randomUUID()}`;
          const handle = await stranger.workflow.start(believer, {
            args: [INJECTED],
            taskQueue: `${taskQueue}-plain`,
            workflowId,
          });
          expect(await handle.result()).toContain(INJECTED);
          const strict = new Client({
            connection,
            namespace,
            dataConverter: createDataConverter(parseKeyRing(TEST_DATA_KEYS)),
          });
          await expect(
            strict.workflow.getHandle(workflowId).result(),
          ).rejects.toMatchObject({
            type: 'PayloadNotEncrypted',
          });
          expect(await owner.workflow.getHandle(workflowId).result()).toContain(
            INJECTED,
          );
        });
      },
    ));
});

test('for the days of a migration, `accept-plain` accepts what was started and signalled without encryption', () =>
  withWorker(
    `${TEST_DATA_KEYS} accept-plain`,
    async ({ owner, taskQueue, refused }) => {
      const workflowId = `refused/${randomUUID()}`;
      const handle = await stranger.workflow.start(believer, {
        args: ['old'],
        taskQueue,
        workflowId,
      });
      await handle.signal(addSignal, 'end');
      await waitsOutside(handle);
      await stranger.activity.complete(
        { workflowId, activityId: '2' },
        'outside',
      );
      expect(
        (await owner.workflow.getHandle(workflowId).result()).sort(),
      ).toEqual(['echo', 'end', 'old', 'outside'].sort());
      expect(refused).toEqual([]);
    },
  ));
