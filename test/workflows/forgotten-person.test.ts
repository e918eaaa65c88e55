import { randomUUID } from 'node:crypto';
import { Client, type Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { patientOnboardingActivities } from '../../src/activities/orchestrator/patient-onboarding.ts';
import {
  API_KEY_ACCESS,
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingInput,
} from '../../src/contract/patient-onboarding.ts';
import { TASK_QUEUES } from '../../src/contract/temporal.ts';
import { startOnboarding } from '../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import { createEncryptionCodec } from '../../src/temporal/codec.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { historyTreesOf } from '../support/history-trees.ts';
import { allRunning, ended } from '../support/onboarding-events.ts';
import {
  EVENT,
  failure,
  type Mocks,
  obliging,
} from '../support/patient-onboarding-environment.ts';
import { findWords, wordsOf } from '../support/personal-words.ts';
import { dumpTemporal } from '../support/scan-temporal.ts';
import { sample } from '../support/simulator.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';

const keith = sample('keith-kiehn');
const dataConverter = createDataConverter(testKeyRing());
const codec = createEncryptionCodec(testKeyRing());
const SOURCES = ['hie', 'pharmacy', 'lab'] as const;
let namespace: string;
let connection: Connection;
let native: NativeConnection;
let client: Client;

beforeAll(async () => {
  namespace = await createTestNamespace();
  const address = inject('temporalAddress');
  connection = await openConnection({ address });
  installTestRuntime();
  native = await NativeConnection.connect({ address });
  client = new Client({ connection, namespace, dataConverter });
});
afterAll(() => Promise.all([connection?.close(), native?.close()]));

/**
 * Runs `use` while a worker serves the orchestrator's queue; `of: '0.1.0'`
 * takes no step that 0.1.0 did not know.
 */
async function withWorker<R>(
  mocks: Mocks,
  use: () => Promise<R>,
  of?: '0.1.0',
): Promise<R> {
  const worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue: TASK_QUEUES.orchestrator,
    workflowBundle: await workflowBundle(),
    dataConverter,
    activities: {
      ...obliging(mocks),
      ...patientOnboardingActivities,
      ...mocks,
    },
    ...(of === undefined ? {} : { patchActivationCallback: () => false }),
  });
  return worker.runUntil(use);
}

/** Its starts are as those of 0.1.0. */
const earlierClient = (): Client =>
  new Client({
    connection,
    namespace,
    dataConverter,
    interceptors: {
      workflow: [
        {
          start: ({ options, ...call }, next) => {
            const [given] = options.args as [PatientOnboardingInput];
            const { forgetsPerson: _, ...input } = given;
            return next({ ...call, options: { ...options, args: [input] } });
          },
        },
      ],
    },
  });

const startedIds: string[] = [];
async function start(of: Client = client) {
  const { handle, workflowId } = await startOnboarding(
    of,
    {
      jobId: `job-${randomUUID()}`,
      facilityId: 'f',
      patient: keith.createBody,
    },
    { exchange: API_KEY_ACCESS, idHmacKey: TEST_ID_HMAC_KEY },
  );
  startedIds.push(workflowId);
  return handle;
}
type Handle = Awaited<ReturnType<typeof start>>;

/**
 * The personal words in all that Temporal holds, decrypted: in what it shows,
 * and in histories that belong to no run any more.
 */
async function personalWords() {
  const trees = await Promise.all(
    startedIds.map((workflowId) => historyTreesOf(workflowId, codec)),
  );
  const texts = trees.flat().map(({ text }) => text);
  const shown = await dumpTemporal(client, codec);
  return findWords([shown, ...texts].join('\n'), wordsOf(keith));
}

async function endSources(handle: Handle): Promise<void> {
  for (const source of SOURCES)
    await handle.signal(EVENT, ended(source, 'completed', 5));
}

/** The sources were asked: the patient is created. */
const isQuerying = (handle: Handle) =>
  expect
    .poll(
      () =>
        handle.query<{ phase: string; requestIds: string[] }>(
          PATIENT_ONBOARDING_MESSAGES.status,
        ),
      {
        timeout: 240_000,
      },
    )
    .toMatchObject({ phase: 'querying', requestIds: [expect.any(String)] });

/** The workflow task that scheduled each activity of the newest run. */
async function scheduledActivities(
  handle: Handle,
): Promise<ReadonlyMap<string, string>> {
  const { runId } = await handle.describe();
  const { events } = await client.workflow
    .getHandle(handle.workflowId, runId)
    .fetchHistory();
  return new Map(
    (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: made }) =>
      made == null
        ? []
        : [
            [
              made.activityType?.name ?? '',
              String(made.workflowTaskCompletedEventId),
            ],
          ],
    ),
  );
}

const refuse = async () =>
  Promise.reject(failure('rejected', 'zip: 5 digits expected'));

test('no history holds a word of the person once they are created or refused, also of runs that 0.1.0 began', async () => {
  const old = await withWorker(
    {},
    async () => {
      const begun = await start(earlierClient());
      await isQuerying(begun);
      expect(await personalWords()).toEqual(
        expect.arrayContaining([keith.createBody.lastName]),
      );
      return begun;
    },
    '0.1.0',
  );
  const { runId } = await old.describe();

  const refused = await start();
  await withWorker({ createPatient: refuse }, () =>
    expect(refused.result()).rejects.toMatchObject({
      cause: {
        type: 'patient-not-created',
        message: 'The patient could not be created: zip: 5 digits expected',
        details: [{ kind: 'rejected' }],
      },
    }),
  );

  await withWorker({ getNetworkQuery: async () => allRunning() }, async () => {
    const handle = await start();
    await isQuerying(handle);
    await old.signal(EVENT, ended('lab', 'completed', 5));
    await expect
      .poll(async () => (await old.describe()).runId, { timeout: 240_000 })
      .not.toBe(runId);
    // Temporal deletes a run half a minute after it has ended.
    await expect
      .poll(personalWords, { timeout: 240_000, interval: 1_000 })
      .toEqual([]);
    expect(await dumpTemporal(client, codec)).toContain('Wait for webhooks');
    for (const each of [old, handle]) {
      await endSources(each);
      expect(await each.result()).toMatchObject({
        status: 'completed',
        webhooksReceived: 3,
      });
    }
    expect(await personalWords()).toEqual([]);
  });
});

test('where Temporal does not let the worker delete, the onboarding goes on', async () => {
  const forgetRun = async () => Promise.reject(failure('rejected'));
  await withWorker({ forgetRun }, async () => {
    const handle = await start();
    await isQuerying(handle);
    await endSources(handle);
    expect(await handle.result()).toMatchObject({ status: 'completed' });
  });
});

test('the sources are asked while the first run cannot be deleted; only the end waits for it', async () => {
  let isThrottled = true;
  const forgetRun: typeof patientOnboardingActivities.forgetRun = async (
    input,
  ) => {
    if (isThrottled) throw failure('unavailable');
    return patientOnboardingActivities.forgetRun(input);
  };
  await withWorker({ forgetRun }, async () => {
    const handle = await start();
    await isQuerying(handle);
    const scheduled = await scheduledActivities(handle);
    // By the same workflow task: neither waits for the other.
    const task = scheduled.get('forgetRun');
    expect(task).toBeDefined();
    expect(scheduled.get('startNetworkQuery')).toBe(task);
    await endSources(handle);
    await expect
      .poll(() => handle.query(PATIENT_ONBOARDING_MESSAGES.status), {
        timeout: 240_000,
      })
      .toMatchObject({ phase: 'ended' });
    expect((await handle.describe()).status.name).toBe('RUNNING');
    isThrottled = false;
    expect(await handle.result()).toMatchObject({ status: 'completed' });
  });
});
