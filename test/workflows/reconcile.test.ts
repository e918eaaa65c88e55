import { randomUUID } from 'node:crypto';
import { WorkflowContinuedAsNewError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  RECONCILE_LOOP_MESSAGES as MESSAGES,
  type Reconciled,
  type ReconcileLoopInput,
  type ReconcileLoopStatus,
  type ReconcilePosition,
} from '../../src/contract/reconcile-workflow.ts';
import { TASK_QUEUES, WORKFLOW_TYPES } from '../../src/contract/temporal.ts';
import { createTimeSkippingEnvironment, eventually, type TimeSkipping } from './network-query-environment.ts';

let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());

const quiet: Reconciled = { rounds: 1, kinds: {}, cursors: {}, isBehind: false };
const HOUR_MS = 60 * 60_000;

test('a round of an earlier version still ends with its result', async () => {
  const round = skipping.withActivities({ reconcileLeftOvers: async () => quiet }, () =>
    skipping.client.workflow.execute(WORKFLOW_TYPES.reconcile, {
      taskQueue: TASK_QUEUES.exchange,
      workflowId: `reconcile-${randomUUID()}`,
      args: [],
    }),
  );
  expect(await round).toEqual(quiet);
});

describe('the loop', () => {
  /** Runs the loop while `use` looks at it. `rounds` returns the result of the round with this number, from 1. */
  async function withLoop(
    rounds: (round: number) => Reconciled | Error,
    use: (loop: WorkflowHandle, made: (ReconcilePosition | undefined)[]) => Promise<void>,
    input: Partial<ReconcileLoopInput> = {},
  ): Promise<void> {
    const made: (ReconcilePosition | undefined)[] = [];
    const reconcileLeftOvers = async (last?: ReconcilePosition) => {
      made.push(last);
      const result = rounds(made.length);
      if (result instanceof Error) throw result;
      return result;
    };
    await skipping.withActivities({ reconcileLeftOvers }, async () => {
      const loop = await skipping.client.workflow.start(WORKFLOW_TYPES.reconcileLoop, {
        taskQueue: TASK_QUEUES.exchange,
        workflowId: randomUUID(),
        args: [{ intervalMs: HOUR_MS, ...input }],
      });
      try {
        await use(loop, made);
      } finally {
        await skipping.terminate(loop.workflowId);
      }
    });
  }
  const statusOf = (loop: WorkflowHandle) => loop.query<ReconcileLoopStatus>(MESSAGES.status);

  test('makes a round at once, shows it, and passes its cursors to the next one', async () => {
    const first: Reconciled = {
      rounds: 1,
      kinds: { messages: { found: 3, healed: 2, failed: 1, oldestSeconds: 70 } },
      cursors: { 'query sweeps': 'there' },
      isBehind: false,
    };
    await withLoop(
      () => first,
      async (loop, made) => {
        await eventually(async () => (await statusOf(loop)).lastRoundAt !== undefined);
        expect(await statusOf(loop)).toMatchObject({ intervalMs: HOUR_MS, isPaused: false, last: first });
        await loop.signal(MESSAGES.roundDue, 2 * HOUR_MS);
        await eventually(() => made.length === 2);
        expect(made).toMatchObject([undefined, { rounds: 1, cursors: { 'query sweeps': 'there' } }]);
        await eventually(async () => (await statusOf(loop)).intervalMs === 2 * HOUR_MS);
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
      (round) => (round === 1 ? ApplicationFailure.nonRetryable('killed') : quiet),
      async (loop, made) => {
        await eventually(async () => (await statusOf(loop)).failure !== undefined);
        await loop.signal(MESSAGES.roundDue, HOUR_MS);
        await eventually(() => made.length === 2);
        await eventually(async () => (await statusOf(loop)).failure === undefined);
      },
    );
  });

  test('makes no round while it is paused, also after it has continued as new', async () => {
    await withLoop(
      () => quiet,
      async (loop, made) => {
        await loop.signal(MESSAGES.roundDue, HOUR_MS);
        await eventually(async () => (await statusOf(loop)).isPaused);
        expect(made).toEqual([]);
        await loop.signal(MESSAGES.resume);
        await eventually(() => made.length === 1);
      },
      { isPaused: true },
    );
  });

  test('continues as new with its state twice a day', async () => {
    await withLoop(
      (round) => ({ ...quiet, cursors: { rounds: String(round) } }),
      async (loop, made) => {
        // Only then may the clock leap: nothing but the timer is left to wait for.
        await eventually(async () => (await statusOf(loop)).lastRoundAt !== undefined);
        const run = skipping.client.workflow.getHandle(loop.workflowId, undefined, { followRuns: false });
        await expect(run.result()).rejects.toBeInstanceOf(WorkflowContinuedAsNewError);
        await eventually(() => made.length === 2);
        expect(made).toMatchObject([undefined, { cursors: { rounds: '1' } }]);
        await eventually(async () => (await statusOf(run)).intervalMs === 13 * HOUR_MS);
      },
      { intervalMs: 13 * HOUR_MS },
    );
  });
});

test('the loop makes its rounds also where no worker does background work', async () => {
  const withoutBackground = await createTimeSkippingEnvironment({ servesBackground: false });
  try {
    let rounds = 0;
    const reconcileLeftOvers = async () => {
      rounds += 1;
      return quiet;
    };
    await withoutBackground.withActivities({ reconcileLeftOvers }, async () => {
      await withoutBackground.client.workflow.start(WORKFLOW_TYPES.reconcileLoop, {
        taskQueue: TASK_QUEUES.exchange,
        workflowId: randomUUID(),
        args: [{ intervalMs: 200 }],
      });
      await eventually(() => rounds >= 2);
    });
  } finally {
    await withoutBackground.close();
  }
});
