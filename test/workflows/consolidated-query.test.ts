import { Context } from '@temporalio/activity';
import { Client } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createConsolidatedActivities } from '../../src/activities/exchange/consolidated-query.ts';
import type { ConversionType } from '../../src/contract/consolidated-query.ts';
import {
  CONSOLIDATED_END_REASONS,
  CONSOLIDATED_MESSAGES,
  type ConsolidatedProgress,
} from '../../src/contract/consolidated-query-workflow.ts';
import {
  consolidatedQueryWorkflowId,
  TASK_QUEUES,
} from '../../src/contract/temporal.ts';
import { createConsolidatedBuilder } from '../../src/exchange/delivery/consolidated-query/build.ts';
import {
  openConsolidatedQuery,
  readConsolidatedQuery,
} from '../../src/exchange/delivery/consolidated-query/query-store.ts';
import {
  type ConsolidatedLauncher,
  createConsolidatedLauncher,
} from '../../src/exchange/delivery/consolidated-query/transitions.ts';
import type { AccountTx } from '../../src/exchange/platform/database/database.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import { createQueryEnvironment } from '../support/network-query-environment.ts';
import { takeUp } from '../support/take-up.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';

installTestRuntime();
const logger = pino({ level: 'silent' });

let environment: Awaited<ReturnType<typeof createQueryEnvironment>>;
let temporal: Client;
let native: NativeConnection;
let workers: Worker[];
let running: Promise<void>[];
let launcher: ConsolidatedLauncher;
let accountId: string;
let patientId: string;
const sent: string[] = [];
/** While it is so, putting a record together waits until it is cancelled. */
let isHeld = false;

beforeAll(async () => {
  const [made, namespace] = await Promise.all([
    createQueryEnvironment(),
    createTestNamespace(),
  ]);
  environment = made;
  const { store, blobs } = environment;
  const address = inject('temporalAddress');
  const dataConverter = createDataConverter(testKeyRing());
  native = await NativeConnection.connect({ address });
  temporal = new Client({
    connection: await openConnection({ address }),
    namespace,
    dataConverter,
  });
  store.onEventsCommitted(
    (_accountId, eventIds) => void sent.push(...eventIds),
  );
  const records = {
    merge: async () => {
      if (isHeld) await Context.current().cancelled;
      return { changed: 0 };
    },
  };
  const builder = createConsolidatedBuilder({
    store,
    blobs,
    records,
    publicBaseUrl: 'https://exchange.test.example.org',
  });
  launcher = createConsolidatedLauncher({ store, blobs, temporal, logger });
  const activities = createConsolidatedActivities({
    builder,
    startGuard: createStartGuard(store),
  });
  workers = await createWorkers({
    connection: native,
    namespace,
    dataConverter,
    workflowBundle: await workflowBundle(),
    activities: {
      [TASK_QUEUES.exchange]: activities,
      [TASK_QUEUES.builds]: activities,
    },
  });
  running = workers.map((worker) => worker.run());
  ({ accountId } = await environment.addAccount({}));
  patientId = await environment.addPatient(accountId);
});
afterAll(async () => {
  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  await launcher.drain();
  await Promise.all([temporal.connection.close(), native.close()]);
  await environment.close();
});

const inAccount = <T>(work: (tx: AccountTx) => Promise<T>): Promise<T> =>
  environment.store.asAccount(accountId, work);
async function open(conversionType: ConversionType): Promise<string> {
  const opened = await inAccount((tx) =>
    openConsolidatedQuery(tx, uuidv7(), patientId, { conversionType }),
  );
  return opened.query.requestId;
}
const handleOf = (requestId: string) =>
  temporal.workflow.getHandle(consolidatedQueryWorkflowId(requestId));
const rowOf = (requestId: string) =>
  inAccount((tx) => readConsolidatedQuery(tx, requestId));
const eventsOf = (requestId: string) =>
  inAccount((tx) =>
    tx.db
      .selectFrom('event')
      .select('id')
      .where('request_id', '=', requestId)
      .execute(),
  );
const reconcile = async () => {
  for (const work of launcher.recoveries) await takeUp(work, 10);
};
const letTimePass = (requestId: string) =>
  inAccount((tx) =>
    sql`update consolidated_query set created_at = created_at - interval '1 hour',
          workflow_started_at = workflow_started_at - interval '1 hour',
          ended_at = ended_at - interval '8 days' where id = ${requestId}`.execute(
      tx.db,
    ),
  );

test('a query that a dying gateway left is taken up, completes in few events, and its result goes after a week', async () => {
  const requestId = await open('pdf');
  await letTimePass(requestId);
  await reconcile();
  const end: ConsolidatedProgress = await handleOf(requestId).result();
  expect(end).toMatchObject({
    requestId,
    state: 'completed',
    sizeBytes: expect.any(Number),
  });
  expect(
    (await handleOf(requestId).fetchHistory()).events?.length,
  ).toBeLessThan(20);
  const { result } = (await rowOf(requestId)) ?? {};
  expect(sent).toContain((await eventsOf(requestId))[0]?.id);
  await reconcile();
  expect((await rowOf(requestId))?.result).toEqual(result);
  await letTimePass(requestId);
  await reconcile();
  expect((await rowOf(requestId))?.result).toBeUndefined();
  await expect(environment.blobs.get(result?.ref ?? '')).rejects.toThrow(
    'There is no blob',
  );
});

test('one that is cancelled in the UI has failed, and says so', async () => {
  isHeld = true;
  const requestId = await open('html');
  launcher.launch(accountId, requestId);
  await launcher.drain();
  expect(
    await handleOf(requestId).query<ConsolidatedProgress>(
      CONSOLIDATED_MESSAGES.status,
    ),
  ).toEqual({
    requestId,
    state: 'processing',
  });
  await handleOf(requestId).cancel();
  await expect(handleOf(requestId).result()).rejects.toThrow();
  isHeld = false;
  expect(await rowOf(requestId)).toMatchObject({
    status: 'failed',
    reason: CONSOLIDATED_END_REASONS.byOperator,
  });
  expect(await eventsOf(requestId)).toHaveLength(1);
});

test('one whose workflow was terminated is ended by reconcile', async () => {
  isHeld = true;
  const requestId = await open('json');
  launcher.launch(accountId, requestId);
  await launcher.drain();
  await handleOf(requestId).terminate('by hand');
  await letTimePass(requestId);
  await reconcile();
  isHeld = false;
  expect(await rowOf(requestId)).toMatchObject({
    status: 'failed',
    reason: CONSOLIDATED_END_REASONS.workflowGone,
  });
  expect(await eventsOf(requestId)).toHaveLength(1);
});
