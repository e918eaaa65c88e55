import { randomUUID } from 'node:crypto';
import {
  WorkflowContinuedAsNewError,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createReconcileActivities,
  type ReconcileActivities,
} from '../../src/activities/exchange/reconcile.ts';
import {
  RECONCILE_LOOP_MESSAGES as MESSAGES,
  type Reconciled,
  type ReconcileLoopInput,
  type ReconcileLoopStatus,
  type ReconcilePosition,
} from '../../src/contract/reconcile-workflow.ts';
import {
  RECONCILE_WORKFLOW_ID,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import {
  pauseReconcileCommand,
  resumeReconcileCommand,
} from '../../src/exchange/operations/admin/reconcile.ts';
import { findingsOf } from '../../src/exchange/operations/ops/findings.ts';
import { readOperationsReport } from '../../src/exchange/operations/ops/report.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { keepReconcileLoop } from '../../src/exchange/platform/recovery/reconcile-loop.ts';
import { createRoundCount } from '../../src/exchange/platform/recovery/reconcile-state-store.ts';
import { createReconciler } from '../../src/exchange/platform/recovery/reconciler.ts';
import {
  deleting,
  type Recovery,
} from '../../src/exchange/platform/recovery/recovery.ts';
import { createTestDatabase } from '../support/postgres.ts';
import {
  createTimeSkippingEnvironment,
  eventually,
  type TimeSkipping,
} from './network-query-environment.ts';

let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());
/**
 * For a test that lets the clock leap: a workflow that another test has
 * terminated may have left the clock of its server standing, and the leap would
 * not come.
 */
async function onFreshServer(): Promise<void> {
  await skipping.close();
  skipping = await createTimeSkippingEnvironment();
}

const quiet: Reconciled = {
  rounds: 1,
  kinds: {},
  cursors: {},
  isBehind: false,
};
const HOUR_MS = 60 * 60_000;

describe('the loop', () => {
  /**
   * Runs the loop while `use` looks at it. `rounds` returns the result of the
   * round with this number, from 1.
   */
  async function withLoop(
    rounds: (round: number) => Reconciled | Error,
    use: (
      loop: WorkflowHandle,
      made: (ReconcilePosition | undefined)[],
    ) => Promise<void>,
    input: Partial<ReconcileLoopInput> = {},
    others: Partial<ReconcileActivities> = {},
  ): Promise<void> {
    const made: (ReconcilePosition | undefined)[] = [];
    const reconcileLeftOvers = async (last?: ReconcilePosition) => {
      made.push(last);
      const result = rounds(made.length);
      if (result instanceof Error) throw result;
      return result;
    };
    await skipping.withActivities(
      { reconcileLeftOvers, ...others },
      async () => {
        const loop = await skipping.client.workflow.start(
          WORKFLOW_TYPES.reconcileLoop,
          {
            taskQueue: TASK_QUEUES.exchange,
            workflowId: randomUUID(),
            args: [{ intervalMs: HOUR_MS, ...input }],
          },
        );
        try {
          await use(loop, made);
        } finally {
          await skipping.terminate(loop.workflowId);
        }
      },
    );
  }
  const statusOf = (loop: WorkflowHandle) =>
    loop.query<ReconcileLoopStatus>(MESSAGES.status);

  test('makes a round at once, shows it, and passes its cursors to the next one', async () => {
    const first: Reconciled = {
      rounds: 1,
      kinds: {
        messages: { found: 3, healed: 2, failed: 1, oldestSeconds: 70 },
      },
      cursors: { 'query sweeps': 'there' },
      isBehind: false,
    };
    await withLoop(
      () => first,
      async (loop, made) => {
        await eventually(
          async () => (await statusOf(loop)).lastRoundAt !== undefined,
        );
        expect(await statusOf(loop)).toMatchObject({
          intervalMs: HOUR_MS,
          isPaused: false,
          last: first,
        });
        await loop.signal(MESSAGES.roundDue, 2 * HOUR_MS);
        await eventually(() => made.length === 2);
        expect(made).toMatchObject([
          undefined,
          { rounds: 1, cursors: { 'query sweeps': 'there' } },
        ]);
        await eventually(
          async () => (await statusOf(loop)).intervalMs === 2 * HOUR_MS,
        );
      },
    );
  });

  test('makes the next round at once while there is more to do', async () => {
    await withLoop(
      (round) => ({ ...quiet, isBehind: round < 3 }),
      async (_, made) => {
        await eventually(() => made.length >= 3);
      },
    );
  });

  test('outlives a round that fails, and says so', async () => {
    await withLoop(
      (round) =>
        round === 1 ? ApplicationFailure.nonRetryable('killed') : quiet,
      async (loop, made) => {
        await eventually(
          async () => (await statusOf(loop)).failure !== undefined,
        );
        await loop.signal(MESSAGES.roundDue, HOUR_MS);
        await eventually(() => made.length === 2);
        await eventually(
          async () => (await statusOf(loop)).failure === undefined,
        );
      },
    );
  });

  test('writes a pause, and its end, into PostgreSQL before the next round', async () => {
    const ordered: (boolean | string)[] = [];
    const setReconcilePaused = async (isPaused: boolean) =>
      void ordered.push(isPaused);
    await withLoop(
      () => ({
        ...quiet,
        ...(ordered.at(-1) === true ? { paused: ['deleting', 'healing'] } : {}),
      }),
      async (loop) => {
        await eventually(
          async () => (await statusOf(loop)).lastRoundAt !== undefined,
        );
        expect(await statusOf(loop)).toMatchObject({ isPaused: false });
        await loop.signal(MESSAGES.pause);
        await eventually(
          async () => (await statusOf(loop)).last?.paused?.length === 2,
        );
        expect(await statusOf(loop)).toMatchObject({ isPaused: true });
        await loop.signal(MESSAGES.resume);
        await eventually(
          async () => (await statusOf(loop)).last?.paused === undefined,
        );
        expect(ordered).toEqual([true, false]);
      },
      {},
      { setReconcilePaused },
    );
  });

  test('continues as new with its state twice a day', async () => {
    await onFreshServer();
    await withLoop(
      (round) => ({ ...quiet, cursors: { rounds: String(round) } }),
      async (loop, made) => {
        // Only then may the clock leap: nothing but the timer is left to wait
        // for.
        await eventually(
          async () => (await statusOf(loop)).lastRoundAt !== undefined,
        );
        const run = skipping.client.workflow.getHandle(
          loop.workflowId,
          undefined,
          { followRuns: false },
        );
        await expect(run.result()).rejects.toBeInstanceOf(
          WorkflowContinuedAsNewError,
        );
        await eventually(() => made.length === 2);
        expect(made).toMatchObject([undefined, { cursors: { rounds: '1' } }]);
        await eventually(
          async () => (await statusOf(run)).intervalMs === 13 * HOUR_MS,
        );
      },
      { intervalMs: 13 * HOUR_MS },
    );
  });
});

test('the loop makes its rounds also where no worker does background work', async () => {
  const withoutBackground = await createTimeSkippingEnvironment({
    servesBackground: false,
  });
  try {
    let rounds = 0;
    const reconcileLeftOvers = async () => {
      rounds += 1;
      return quiet;
    };
    await withoutBackground.withActivities({ reconcileLeftOvers }, async () => {
      await withoutBackground.client.workflow.start(
        WORKFLOW_TYPES.reconcileLoop,
        {
          taskQueue: TASK_QUEUES.exchange,
          workflowId: randomUUID(),
          args: [{ intervalMs: 200 }],
        },
      );
      await eventually(() => rounds >= 2);
    });
  } finally {
    await withoutBackground.close();
  }
});

describe('a pause of deleting', () => {
  const hour = async (count: number) => skipping.sleep(`${count} hours`);

  test('holds for 36 hours, through new runs, restarts and terminations, while healing goes on', async () => {
    await onFreshServer();
    const { databaseUrl, drop } = await createTestDatabase();
    const store = createStore({ databaseUrl, poolMax: 2 });
    const done = { heals: 0, deletes: 0 };
    const counting = (name: keyof typeof done): Recovery => ({
      name,
      async takeUp() {
        done[name] += 1;
        return { found: 0, healed: 0, failures: [] };
      },
    });
    const activities = createReconcileActivities({
      store,
      reconciler: createReconciler({
        roundCount: createRoundCount(store),
        recoveries: [counting('heals'), deleting(counting('deletes'))],
        isImporting: async () => false,
        logger: pino({ level: 'silent' }),
      }),
    });
    const intervalSeconds = 30 * 60;
    const loop = skipping.client.workflow.getHandle(RECONCILE_WORKFLOW_ID);
    const keep = () =>
      keepReconcileLoop(
        { temporal: skipping.client, logger: pino({ level: 'silent' }) },
        { intervalSeconds, checkEveryMs: 100 },
      );
    let stop: (() => void) | undefined;
    await pauseReconcileCommand({ store }, 'deleting', {
      by: 'Ops',
      reason: 'restored from Monday',
    });
    try {
      await skipping.withActivities(activities, async () => {
        stop = keep();
        await eventually(() => done.heals >= 1);
        const runs = new Set([(await loop.describe()).runId]);
        for (let hours = 0; hours < 36; hours += 6) {
          await hour(6);
          if (hours === 18) {
            await skipping.terminate(RECONCILE_WORKFLOW_ID);
            await eventually(
              async () => (await loop.describe()).status.name === 'RUNNING',
            );
          }
          runs.add((await loop.describe()).runId);
        }
        expect(runs.size).toBeGreaterThanOrEqual(3);
        expect(done.heals).toBeGreaterThan(36);
        expect(done.deletes).toBe(0);
        expect(
          await loop.query<ReconcileLoopStatus>(MESSAGES.status),
        ).toMatchObject({
          isPaused: false,
          last: { paused: ['deleting'] },
        });
        expect(
          findingsOf({ report: await readOperationsReport(store) }),
        ).toContainEqual(
          expect.objectContaining({
            kind: 'paused',
            help: 'npm run admin -- reconcile resume deleting',
          }),
        );
        await resumeReconcileCommand({ store }, 'deleting');
        await hour(1);
        await eventually(() => done.deletes >= 1);
      });
    } finally {
      stop?.();
      await skipping.terminate(RECONCILE_WORKFLOW_ID).catch(() => undefined);
      await store.close();
      await drop();
    }
  });
});
