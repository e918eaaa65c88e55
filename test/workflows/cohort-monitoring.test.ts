import {
  Client,
  type Connection,
  ScheduleOverlapPolicy,
  type WorkflowHandle,
} from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  test,
} from 'vitest';
import {
  createMonitoringActivities,
  type MonitoringActivities,
} from '../../src/activities/orchestrator/cohort-monitoring.ts';
import {
  type CohortMonitoringInput,
  type CohortMonitoringStatus,
  DEFAULT_MONITORING_PACE,
  COHORT_MONITORING_MESSAGES as MESSAGES,
  type MonitoringPace,
} from '../../src/contract/cohort-monitoring.ts';
import { WORKFLOW_TYPES } from '../../src/contract/temporal.ts';
import { accountAccess } from '../../src/orchestrator/client/credentials.ts';
import {
  type ExchangeConnection,
  openExchange,
} from '../../src/orchestrator/exchange-access.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import {
  createTestGateway,
  TEST_INTERNAL_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { eventually } from './network-query-environment.ts';

installTestRuntime();
const TASK_QUEUE = `cohort-monitoring-${uuidv7()}`;
let gateway: TestGateway;
let exchange: ExchangeConnection;
let connection: Connection;
let native: NativeConnection;
let client: Client;
let worker: Worker;
let running: Promise<void>;
let account: TestAccount;
/**
 * Called after each page; one that throws stands for a worker that was killed
 * there.
 */
let afterPage: (page: number) => void | Promise<void>;
let pages = 0;

beforeAll(async () => {
  gateway = await createTestGateway();
  const url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  exchange = openExchange({
    EXCHANGE_BASE_URL: url,
    EXCHANGE_IDEMPOTENCY: true,
    EXCHANGE_API_KEY: undefined,
    EXCHANGE_ACCOUNT_ID: undefined,
    INTERNAL_TOKEN_KEY: TEST_INTERNAL_KEY,
  });
  const real = createMonitoringActivities({
    clientFor: exchange.clientFor,
    idHmacKey: TEST_ID_HMAC_KEY,
  });
  const activities: MonitoringActivities = {
    async monitorPage(input) {
      const page = await real.monitorPage(input);
      await afterPage(++pages);
      return page;
    },
  };
  const dataConverter = createDataConverter(testKeyRing());
  const address = inject('temporalAddress');
  connection = await openConnection({ address });
  native = await NativeConnection.connect({ address });
  client = new Client({ connection, dataConverter });
  worker = await Worker.create({
    connection: native,
    dataConverter,
    taskQueue: TASK_QUEUE,
    workflowBundle: await workflowBundle(),
    activities,
    maxHeartbeatThrottleInterval: '500 ms',
  });
  running = worker.run();
});
afterAll(async () => {
  worker.shutdown();
  await running;
  await Promise.all([connection.close(), native.close(), exchange.close()]);
  await gateway.close();
});
beforeEach(async () => {
  pages = 0;
  afterPage = () => undefined;
  account = await gateway.addAccount({
    settings: { limits: { networkQueriesPerMinute: 6_000 } },
  });
});

/** Patients of the account; the first `optedOut` have opted out of the hie. */
async function addPatients(count: number, optedOut = 0): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  await gateway.store.asAccount(account.accountId, (tx) =>
    sql`insert into patient
          (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids, hie_opt_out)
        select id, ${account.accountId}::uuid, '{Pat}', '{Sample}', '1980-01-01', 'F', '[]', '{}', n <= ${optedOut}
        from unnest(${ids}::uuid[]) with ordinality as p (id, n)`.execute(
      tx.db,
    ),
  );
  return ids;
}

async function addCohort(name: string, patientIds: string[]): Promise<string> {
  const { id } = (await account.call('POST', 'cohort', { name })).json();
  const added = await account.call('POST', `cohort/${id}/patient`, {
    patientIds,
  });
  expect(added.statusCode).toBe(200);
  return id;
}

const inputOf = (
  cohortId: string,
  changes: Partial<Omit<CohortMonitoringInput, 'pace'>> & {
    pace?: Partial<MonitoringPace>;
  } = {},
): CohortMonitoringInput => ({
  exchange: accountAccess(account.accountId),
  cohortId,
  kind: 'hie',
  frequency: 'weekly',
  queriesPerMinute: 4_800,
  ...changes,
  pace: {
    ...DEFAULT_MONITORING_PACE,
    requestsPerMinute: 60_000,
    ...changes.pace,
  },
});

type Monitoring = (
  input: CohortMonitoringInput,
) => Promise<CohortMonitoringStatus>;
const start = (input: CohortMonitoringInput) =>
  client.workflow.start<Monitoring>(WORKFLOW_TYPES.cohortMonitoring, {
    taskQueue: TASK_QUEUE,
    workflowId: `monitoring-test/${uuidv7()}`,
    args: [input],
  });
const statusOf = (run: WorkflowHandle<Monitoring>) =>
  run.query<CohortMonitoringStatus>(MESSAGES.status);

/** How many queries each patient has. */
async function counts(patientIds: string[]): Promise<number[]> {
  const rows = await gateway.store.asAccount(account.accountId, (tx) =>
    tx.db.selectFrom('network_query').select('patient_id').execute(),
  );
  return patientIds.map(
    (id) => rows.filter(({ patient_id }) => patient_id === id).length,
  );
}

describe('the monitoring of a cohort', () => {
  test('asks about each patient once, across killed pages and runs that begin anew', async () => {
    const patients = await addPatients(25, 1);
    const cohortId = await addCohort('diabetes', patients);
    afterPage = (page) => {
      if (page === 2) throw new Error('killed after its work');
    };
    const run = await start(
      inputOf(cohortId, { pace: { pageSize: 5, pagesPerRun: 2 } }),
    );
    expect(await run.result()).toMatchObject({
      state: 'completed',
      patients: 25,
      started: 24,
      skipped: { alreadyAsked: 0, optedOut: 1, gone: 0 },
      failed: 0,
      notes: [],
    });
    expect(await counts(patients)).toEqual([0, ...Array(24).fill(1)]);
    const described = await client.workflow
      .getHandle(run.workflowId)
      .describe();
    expect(described.runId).not.toBe(run.firstExecutionRunId);
    const origins = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db.selectFrom('network_query').select('origin').distinct().execute(),
    );
    expect(origins).toEqual([{ origin: 'monitoring' }]);
  });

  test('shares the patients of two cohorts that run at the same moment', async () => {
    const patients = await addPatients(20);
    const cohorts = [
      await addCohort('heart', patients),
      await addCohort('lungs', patients.slice(5)),
    ];
    const runs = await Promise.all(
      cohorts.map((cohortId) => start(inputOf(cohortId))),
    );
    const results = await Promise.all(runs.map((run) => run.result()));
    expect(await counts(patients)).toEqual(Array(20).fill(1));
    expect(results.reduce((total, { started }) => total + started, 0)).toBe(20);
    expect(
      results.reduce((total, { skipped }) => total + skipped.alreadyAsked, 0),
    ).toBe(15);
  });

  test('is held and goes on by signals, and ends with its counts when it is cancelled', async () => {
    const patients = await addPatients(9);
    const cohortId = await addCohort('kidneys', patients);
    // Three a minute: it would go on after a minute.
    const run = await start(inputOf(cohortId, { queriesPerMinute: 3 }));
    await eventually(async () => (await statusOf(run)).started === 3);
    await run.signal(MESSAGES.pause);
    expect((await statusOf(run)).state).toBe('paused');
    await run.signal(MESSAGES.resume);
    expect((await statusOf(run)).state).toBe('running');
    await run.cancel();
    await expect(run.result()).rejects.toThrow();
    expect(await statusOf(run)).toMatchObject({
      state: 'cancelled',
      started: 3,
      patients: 9,
    });
    expect(pages).toBe(1);
  });

  test('ends in peace when its cohort is deleted meanwhile', async () => {
    const patients = await addPatients(6);
    const cohortId = await addCohort('closing', patients);
    afterPage = async () => {
      await account.call('DELETE', `cohort/${cohortId}/patient`, {
        allPatients: true,
      });
      expect(
        (await account.call('DELETE', `cohort/${cohortId}`)).statusCode,
      ).toBe(204);
    };
    const run = await start(inputOf(cohortId, { pace: { pageSize: 4 } }));
    const note = expect.stringContaining('was deleted');
    expect(await run.result()).toMatchObject({
      state: 'completed',
      started: 4,
      notes: [note],
    });
  });

  test('tells plainly why it cannot be done', async () => {
    const run = await start(inputOf(uuidv7()));
    await expect(run.result()).rejects.toMatchObject({
      cause: { type: 'not-found' },
    });
    expect(await statusOf(run)).toMatchObject({
      state: 'failed',
      notes: ['listCohortPatients: 404 NOT_FOUND "Not found"'],
    });
  });

  test('on a schedule stands for the schedule’s time: a backfill asks once for each of its periods', async () => {
    const patients = await addPatients(4);
    const cohortId = await addCohort('all', patients);
    const scheduleId = `monitoring-test/${uuidv7()}`;
    const schedule = await client.schedule.create({
      scheduleId,
      spec: {
        calendars: [{ dayOfWeek: 'TUESDAY', hour: 6, minute: 12 }],
        jitter: '10 minutes',
      },
      action: {
        type: 'startWorkflow',
        workflowType: WORKFLOW_TYPES.cohortMonitoring,
        workflowId: scheduleId,
        taskQueue: TASK_QUEUE,
        args: [inputOf(cohortId)],
      },
      state: { paused: true },
    });
    try {
      await schedule.backfill({
        start: new Date('2026-10-05T00:00:00Z'),
        end: new Date('2026-10-26T00:00:00Z'),
        overlap: ScheduleOverlapPolicy.BUFFER_ALL,
      });
      const dues = [
        '2026-10-06T06:12:00.000Z',
        '2026-10-13T06:12:00.000Z',
        '2026-10-20T06:12:00.000Z',
      ];
      await eventually(async () =>
        (await counts(patients)).every((count) => count === 3),
      );
      const rows = await gateway.store.asAccount(account.accountId, (tx) =>
        tx.db
          .selectFrom('network_query')
          .select('metadata')
          .where('patient_id', '=', patients[0] ?? '')
          .execute(),
      );
      expect(
        rows.map(({ metadata }) => metadata?.['monitoring.due']).sort(),
      ).toEqual(dues);
    } finally {
      await schedule.delete();
    }
  });
});
