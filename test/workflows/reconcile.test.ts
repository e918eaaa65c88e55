import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reconciled } from '../../src/activities/exchange/reconcile.ts';
import { TASK_QUEUES, WORKFLOW_TYPES } from '../../src/contract/temporal.ts';
import { createTimeSkippingEnvironment, type TimeSkipping } from './network-query-environment.ts';

let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());

/** One round of reconcile, whose step does this. */
function round(step: () => Promise<Reconciled>): Promise<unknown> {
  return skipping.withActivities({ reconcileLeftOvers: step }, () =>
    skipping.client.workflow.execute(WORKFLOW_TYPES.reconcile, {
      taskQueue: TASK_QUEUES.exchange,
      workflowId: `reconcile-${uuidv7()}`,
      args: [],
    }),
  );
}

describe('a round of reconcile', () => {
  test('tells what it has taken up', async () => {
    const reconciled = {
      runsEnsured: 3,
      attemptsEnded: 1,
      eventsHandedOver: 2,
      keysForgotten: 0,
      others: {},
    };
    expect(await round(async () => reconciled)).toEqual(reconciled);
  });

  test('that cannot do its work is shown as failed, and leaves the rest to the next one', async () => {
    let tries = 0;
    const failing = round(async () => {
      tries += 1;
      throw ApplicationFailure.retryable('the database is away');
    });
    await expect(failing).rejects.toBeInstanceOf(WorkflowFailedError);
    expect(tries).toBe(2);
  });
});
