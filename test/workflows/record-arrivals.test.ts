import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ArrivalActivities } from '../../src/activities/exchange/record-arrivals.ts';
import {
  type ArrivalsMerged,
  RECORD_ARRIVALS_MESSAGES as MESSAGES,
} from '../../src/contract/record-arrivals-workflow.ts';
import {
  RECORD_ARRIVALS_WORKFLOW_ID,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import {
  createTimeSkippingEnvironment,
  type TimeSkipping,
} from './network-query-environment.ts';

let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());

type Run = WorkflowHandleWithFirstExecutionRunId<() => Promise<void>>;

/** A run whose steps do this, one after the other. */
async function withArrivals<R>(
  steps: ((run: Run) => ArrivalsMerged | Promise<ArrivalsMerged>)[],
  use: (run: Run) => Promise<R>,
): Promise<R> {
  let start: (run: Run) => void = () => undefined;
  const started = new Promise<Run>((resolve) => {
    start = resolve;
  });
  const activities: ArrivalActivities = {
    async mergeArrivals() {
      const step = steps.shift();
      if (step === undefined) throw new Error('one step too many');
      return step(await started);
    },
  };
  return skipping.withActivities(activities, async () => {
    const run = await skipping.client.workflow.signalWithStart(
      WORKFLOW_TYPES.recordArrivals,
      {
        taskQueue: TASK_QUEUES.exchange,
        workflowId: RECORD_ARRIVALS_WORKFLOW_ID,
        args: [],
        signal: MESSAGES.arrived,
        signalArgs: [],
      },
    );
    const handle = skipping.client.workflow.getHandle(run.workflowId) as Run;
    start(handle);
    return use(handle);
  });
}

/**
 * How many seconds passed before each step of a run, since its start or the
 * step before. On a busy machine more pass than are waited for.
 */
async function waitsOf(run: Run): Promise<number[]> {
  const events = (await run.fetchHistory()).events ?? [];
  const at = (event: (typeof events)[number] | undefined) =>
    Number(event?.eventTime?.seconds ?? 0);
  const begun = events
    .filter((event) => event.activityTaskScheduledEventAttributes)
    .map(at);
  return begun.map(
    (second, index) => second - (begun[index - 1] ?? at(events[0])),
  );
}

const atLeast = (seconds: number) =>
  expect.toSatisfy((waited: number) => waited >= seconds);

test('an arrival is merged two seconds later, and the run ends when nothing waits', async () => {
  await withArrivals([() => ({ merged: 1, failed: 0 })], async (run) => {
    await run.result();
    expect(await waitsOf(run)).toEqual([atLeast(2)]);
  });
});

test('what is due later is waited for', async () => {
  const steps = [
    () => ({ merged: 5, failed: 0, nextInMs: 60_000 }),
    () => ({ merged: 1, failed: 0 }),
  ];
  await withArrivals(steps, async (run) => {
    await run.result();
    expect(await waitsOf(run)).toEqual([atLeast(2), atLeast(60)]);
  });
});

test('what arrives during a step is merged by the next one', async () => {
  const steps = [
    async (run: Run) => {
      await run.signal(MESSAGES.arrived);
      return { merged: 1, failed: 0 };
    },
    () => ({ merged: 1, failed: 0 }),
  ];
  await withArrivals(steps, async (run) => {
    await run.result();
    expect(await waitsOf(run)).toEqual([atLeast(2), atLeast(2)]);
  });
});
