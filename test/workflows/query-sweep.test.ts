import { fileURLToPath } from 'node:url';
import { Client, WorkflowNotFoundError } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  createSweepActivities,
  type SweepActivities,
} from '../../src/activities/exchange/query-sweep.ts';
import {
  DEFAULT_SWEEP_PACE,
  type QuerySweepInput,
  type QuerySweepProgress,
  type SweepPace,
} from '../../src/contract/bulk-create-workflow.ts';
import {
  querySweepWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import { ConflictError } from '../../src/exchange/platform/errors.ts';
import {
  createSweepControl,
  sweepRecovery,
} from '../../src/exchange/queries/sweep/control.ts';
import { readSweepCounts } from '../../src/exchange/queries/sweep/sweep-store.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { inBothLanes } from '../../src/temporal/task-queues.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import {
  CALLBACK_KEY,
  createSweepEnvironment,
  numbers,
  type SweepEnvironment,
  type TestPanel,
} from '../support/sweep-environment.ts';
import { takeUp } from '../support/take-up.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { eventually, untilStuck } from './network-query-environment.ts';
import { shortWorkflowTasks } from './short-workflow-tasks.ts';

installTestRuntime();
let environment: SweepEnvironment;
let temporal: Client;
let native: NativeConnection;
let workers: Worker[];
let running: Promise<unknown>;
let serve: (bundle: { code: string }) => Promise<void>;
/**
 * What the queries that a sweep has started do; by default they end at once.
 */
let onStart: (panel: TestPanel) => Promise<void>;
/**
 * Called after each page that is committed; one that throws stands for a worker
 * that was killed there.
 */
let afterPage: (page: number) => void | Promise<void>;
let pages = 0;
let current: TestPanel;

beforeAll(async () => {
  environment = await createSweepEnvironment();
  const address = inject('temporalAddress');
  const dataConverter = createDataConverter(testKeyRing());
  const namespace = await createTestNamespace();
  native = await NativeConnection.connect({ address });
  temporal = new Client({
    connection: await openConnection({ address }),
    namespace,
    dataConverter,
    interceptors: { workflow: [shortWorkflowTasks] },
  });
  const real = createSweepActivities({
    store: environment.store,
    callbackKey: CALLBACK_KEY,
    launcher: {
      start: async () => {
        await onStart(current);
        return 'open';
      },
    },
  });
  const activities: SweepActivities = {
    ...real,
    async startSweepPage(input) {
      const page = await real.startSweepPage(input);
      await afterPage(++pages);
      return page;
    },
  };
  serve = async (bundle) => {
    workers = await createWorkers({
      connection: native,
      namespace,
      dataConverter,
      workflowBundle: bundle,
      activities: inBothLanes({ [TASK_QUEUES.exchange]: activities }),
    });
    running = Promise.all(workers.map((worker) => worker.run()));
  };
  await serve(await workflowBundle());
});
async function stopWorkers(): Promise<void> {
  for (const worker of workers) worker.shutdown();
  await running;
}
afterAll(async () => {
  await stopWorkers();
  await temporal.connection.close();
  await native.close();
  await environment.close();
});

async function panelOf(count: number): Promise<TestPanel> {
  pages = 0;
  afterPage = () => undefined;
  onStart = (panel) => environment.endQueries(panel);
  current = await environment.addPanel(count, {
    settings: { limits: { networkQueriesPerMinute: 1_000 } },
  });
  return current;
}

const start = (panel: TestPanel, pace: Partial<SweepPace>) =>
  temporal.workflow.start<
    (input: QuerySweepInput) => Promise<QuerySweepProgress>
  >(WORKFLOW_TYPES.querySweep, {
    taskQueue: TASK_QUEUES.exchange,
    workflowId: querySweepWorkflowId(panel.requestId),
    args: [
      {
        accountId: panel.accountId,
        requestId: panel.requestId,
        pace: { ...DEFAULT_SWEEP_PACE, ...pace },
      },
    ],
  });
const countsOf = (panel: TestPanel) =>
  environment.store.asAccount(panel.accountId, (tx) =>
    readSweepCounts(tx, panel.requestId),
  );
const patientsOf = async (panel: TestPanel) =>
  (await environment.queriesOf(panel)).map(({ patient }) => patient);
const control = (commandTimeoutMs?: number) =>
  createSweepControl({ store: environment.store, temporal, commandTimeoutMs });

describe('a sweep', () => {
  test('starts each patient once, in order, across killed steps and runs that begin anew', async () => {
    const panel = await panelOf(10);
    afterPage = (page) => {
      if (page === 2) throw new Error('killed after its commit');
    };
    const sweep = await start(panel, {
      pageSize: 3,
      windowSize: 30,
      pagesPerRun: 2,
    });
    const result = await sweep.result();
    expect(result).toMatchObject({
      state: 'completed',
      patients: 10,
      started: 10,
      skipped: 0,
    });
    expect(await patientsOf(panel)).toEqual(numbers(10));
    const { runId } = await temporal.workflow
      .getHandle(sweep.workflowId)
      .describe();
    expect(runId).not.toBe(sweep.firstExecutionRunId);
  });

  test('that is paused is resumed although its workflow was lost and is only starting again', async () => {
    const panel = await panelOf(6);
    onStart = async () => undefined;
    const first = await start(panel, { pageSize: 2, windowSize: 2 });
    await eventually(async () => (await countsOf(panel))?.started === 2);
    await control().pauseSweep(panel.accountId, panel.requestId);
    await first.terminate();
    await start(panel, { pageSize: 2, windowSize: 4 });
    expect(
      await control().resumeSweep(panel.accountId, panel.requestId),
    ).toMatchObject({ state: 'running' });
    await eventually(async () => (await countsOf(panel))?.started === 4);
    await control().cancelSweep(panel.accountId, panel.requestId);
  });

  test('is held, goes on and is cancelled on request; readers see it at once', async () => {
    const panel = await panelOf(9);
    onStart = async () => undefined;
    await start(panel, { pageSize: 2, windowSize: 2 });
    await eventually(async () => (await countsOf(panel))?.started === 2);
    expect(
      await control().pauseSweep(panel.accountId, panel.requestId),
    ).toMatchObject({ state: 'paused' });
    await expect(
      control().pauseSweep(panel.accountId, panel.requestId),
    ).rejects.toThrow('already paused');
    await environment.endQueries(panel);
    const before = pages;
    expect(await countsOf(panel)).toMatchObject({
      state: 'paused',
      started: 2,
    });
    expect(
      await control().resumeSweep(panel.accountId, panel.requestId),
    ).toMatchObject({ state: 'running' });
    await eventually(async () => (await countsOf(panel))?.started === 4);
    expect(pages).toBeGreaterThan(before);
    expect(
      await control().cancelSweep(panel.accountId, panel.requestId),
    ).toMatchObject({
      state: 'cancelled',
      started: 4,
    });
    await environment.endQueries(panel);
    const result = await temporal.workflow.result(
      querySweepWorkflowId(panel.requestId),
    );
    expect(result).toMatchObject({ state: 'cancelled', started: 4 });
    await expect(
      control().resumeSweep(panel.accountId, panel.requestId),
    ).rejects.toBeInstanceOf(ConflictError);
    expect(await patientsOf(panel)).toEqual(numbers(4));
  });

  test('stays cancelled when the page that was running then reports later', async () => {
    const panel = await panelOf(4);
    onStart = async () => undefined;
    let report = () => {};
    const reporting = new Promise<void>((resolve) => {
      report = resolve;
    });
    afterPage = () => reporting;
    const sweep = await start(panel, { pageSize: 2, windowSize: 4 });
    await eventually(async () => (await countsOf(panel))?.started === 2);

    await control().cancelSweep(panel.accountId, panel.requestId);
    report();
    expect(await sweep.result()).toMatchObject({ state: 'cancelled' });
  });

  test('cancelled in Temporal is cancelled for its readers too', async () => {
    const panel = await panelOf(5);
    onStart = async () => undefined;
    const sweep = await start(panel, { pageSize: 2, windowSize: 2 });
    await eventually(async () => (await countsOf(panel))?.started === 2);
    await sweep.cancel();
    await expect(sweep.result()).rejects.toThrow();
    expect(await countsOf(panel)).toMatchObject({
      state: 'cancelled',
      started: 2,
    });
  });

  test('whose workflow is gone is taken up where it stood, by reconcile or by whoever steers it', async () => {
    const panel = await panelOf(6);
    onStart = async () => undefined;
    const sweep = await start(panel, { pageSize: 2, windowSize: 2 });
    await eventually(async () => (await countsOf(panel))?.started === 2);
    await sweep.terminate('by an operator');
    expect(
      await control().pauseSweep(panel.accountId, panel.requestId),
    ).toMatchObject({ state: 'paused' });
    // As after a restore of Temporal: it knows nothing of the workflow.
    const { workflowService } = temporal.connection;
    const { namespace } = temporal.options;
    const { workflowId } = sweep;
    await workflowService.deleteWorkflowExecution({
      namespace,
      workflowExecution: { workflowId },
    });
    await eventually(() =>
      temporal.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          () => false,
          (error: unknown) => error instanceof WorkflowNotFoundError,
        ),
    );
    await unseen(panel);
    await takeUp(sweepRecovery({ store: environment.store, temporal }), 10);
    expect(await temporal.workflow.result(workflowId)).toMatchObject({
      state: 'completed',
      started: 6,
    });
    expect(await patientsOf(panel)).toEqual(numbers(6));
  });

  test('terminated in Temporal stays ended: reconcile cancels it instead of starting it again', async () => {
    const panel = await panelOf(6);
    onStart = async () => undefined;
    const sweep = await start(panel, { pageSize: 2, windowSize: 2 });
    await eventually(async () => (await countsOf(panel))?.started === 2);
    await sweep.terminate('by an operator');
    await unseen(panel);
    await takeUp(sweepRecovery({ store: environment.store, temporal }), 10);
    expect(await countsOf(panel)).toMatchObject({
      state: 'cancelled',
      started: 2,
    });
    const { runId } = await temporal.workflow
      .getHandle(sweep.workflowId)
      .describe();
    expect(runId).toBe(sweep.firstExecutionRunId);
  });
  const unseen = (panel: { requestId: string }) =>
    environment.store.asSystem((tx) =>
      sql`update bulk_sweep set state = 'running', seen_at = now() - interval '1 hour'
          where request_id = ${panel.requestId}`.execute(tx.db),
    );

  test('that a faulty deploy has stuck can be paused, resumed and cancelled', async () => {
    // More than the window of a workflow that is started anew, which has the
    // usual pace: the sweep must not end before the last step.
    const panel = await panelOf(60);
    onStart = async () => undefined;
    const sweep = await start(panel, { pageSize: 2, windowSize: 2 });
    await eventually(async () => (await countsOf(panel))?.started === 2);
    const handle = temporal.workflow.getHandle(sweep.workflowId);
    const stick = async (bundle: { code: string }) => {
      await stopWorkers();
      await serve(bundle);
      await handle.signal('anything');
      await untilStuck(handle);
    };
    const broken = await loadWorkflowBundle(
      fileURLToPath(new URL('../replay/broken-workflows.ts', import.meta.url)),
    );
    const stateNow = () =>
      handle.query<QuerySweepProgress>('status').then(
        ({ state }) => state,
        () => undefined,
      );
    const of = [panel.accountId, panel.requestId] as const;
    await stick(broken);
    expect(await control(2_000).pauseSweep(...of)).toMatchObject({
      state: 'paused',
      started: 2,
    });
    // What the worker before held is given up only after the workflow task's
    // time limit of 10 s.
    await eventually(async () => (await stateNow()) === 'paused');
    await stick(await workflowBundle());
    expect(await control(2_000).resumeSweep(...of)).toMatchObject({
      state: 'running',
    });
    await eventually(async () => (await stateNow()) === 'running');
    await stick(broken);
    expect(await control(2_000).cancelSweep(...of)).toMatchObject({
      state: 'cancelled',
    });
    expect((await handle.describe()).status.name).toBe('TERMINATED');
    await stopWorkers();
    await serve(await workflowBundle());
  });
});
