import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONSOLIDATED_END_REASONS } from '../../src/contract/consolidated-query-workflow.ts';
import {
  consolidatedQueryWorkflowId,
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

/**
 * The end of a consolidated query whose first `failures` builds fail on our
 * side.
 */
async function endAfter(
  failures: number,
): Promise<{ end: unknown; builds: number }> {
  let builds = 0;
  const activities = {
    buildConsolidated: async () => {
      if (++builds <= failures) throw new Error('the database is away');
      return { state: 'completed' as const, sizeBytes: 1 };
    },
    failConsolidated: async ({ reason }: { reason: string }) => ({
      state: 'failed' as const,
      reason,
    }),
  };
  return skipping.withActivities(activities, async () => {
    const requestId = uuidv7();
    const run = await skipping.client.workflow.start(
      WORKFLOW_TYPES.consolidatedQuery,
      {
        taskQueue: TASK_QUEUES.exchange,
        workflowId: consolidatedQueryWorkflowId(requestId),
        args: [{ accountId: 'account', requestId }],
      },
    );
    return { end: await run.result(), builds };
  });
}

test('an outage of ours of half a day fails no consolidated query, however often it is tried', async () => {
  const { end, builds } = await endAfter(150);
  expect(end).toMatchObject({ state: 'completed' });
  expect(builds).toBe(151);
});

test('a consolidated query that cannot be built in a day has failed, and says so', async () => {
  const { end } = await endAfter(Number.POSITIVE_INFINITY);
  expect(end).toMatchObject({
    state: 'failed',
    reason: CONSOLIDATED_END_REASONS.ourFault,
  });
});
