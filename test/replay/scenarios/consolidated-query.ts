import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ConsolidatedActivities } from '../../../src/activities/exchange/consolidated-query.ts';
import type {
  ConsolidatedEnd,
  ConsolidatedQueryInput,
} from '../../../src/contract/consolidated-query-workflow.ts';
import {
  consolidatedQueryWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const run = (
  buildConsolidated: ConsolidatedActivities['buildConsolidated'],
): Scenario => ({
  workflowType: WORKFLOW_TYPES.consolidatedQuery,
  workflowId: consolidatedQueryWorkflowId(REQUEST_ID),
  args: [
    {
      accountId: ACCOUNT_ID,
      requestId: REQUEST_ID,
    } satisfies ConsolidatedQueryInput,
  ],
  activities: {
    builds: { buildConsolidated } satisfies Partial<ConsolidatedActivities>,
    exchange: {
      failConsolidated: async ({ reason }) => ({ state: 'failed', reason }),
    } satisfies Partial<ConsolidatedActivities>,
  },
});

async function untilCancelled(): Promise<never> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), 100);
  return context.cancelled.finally(() => clearInterval(timer));
}

export const consolidatedQueryScenarios: Record<string, Scenario> = {
  'consolidated-query/completed-v1': run(
    inTurn({ state: 'completed' as const, sizeBytes: 12_345 }),
  ),
  'consolidated-query/failed-v1': run(
    inTurn<ConsolidatedEnd>(
      ApplicationFailure.nonRetryable('cannot be put together'),
    ),
  ),
  'consolidated-query/cancelled-v1': {
    ...run(untilCancelled),
    async meanwhile(handle) {
      await sleep(500);
      await handle.cancel();
    },
  },
};
