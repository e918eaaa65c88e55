import type { RedriveActivities } from '../../../src/activities/exchange/query-sweep.ts';
import type {
  QueryRedriveInput,
  RedrivePage,
  RedriveProgress,
} from '../../../src/contract/query-redrive-workflow.ts';
import {
  queryRedriveWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const at = (
  retried: number,
  state: RedriveProgress['state'] = 'running',
): RedriveProgress => ({
  state,
  queries: 120,
  retried,
  skipped: 1,
  failed: 0,
});

const redrive = (pagesPerRun: number, ...pages: RedrivePage[]): Scenario => ({
  workflowType: WORKFLOW_TYPES.queryRedrive,
  workflowId: queryRedriveWorkflowId(REQUEST_ID),
  args: [
    {
      accountId: ACCOUNT_ID,
      redriveId: REQUEST_ID,
      pagesPerRun,
    } satisfies QueryRedriveInput,
  ],
  activities: {
    exchange: {
      redrivePage: inTurn(...pages),
      cancelRedrive: async () => undefined,
    } satisfies RedriveActivities,
  },
});

export const queryRedriveScenarios: Record<string, Scenario> = {
  'query-redrive/limit-completed-v1': redrive(
    200,
    { progress: at(50) },
    { progress: at(96), wait: { ms: 400, why: 'Wait for the next minute' } },
    { progress: at(119, 'completed') },
  ),
  'query-redrive/cancelled-in-temporal-v1': {
    ...redrive(200, {
      progress: at(50),
      wait: { ms: 60_000, why: 'Wait for the next minute' },
    }),
    async meanwhile(handle) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await handle.cancel();
    },
  },
  // The history is that of the second run.
  'query-redrive/continued-cancelled-v1': redrive(
    1,
    {
      progress: at(50),
      wait: { ms: 100, why: 'Wait until running retries have ended' },
    },
    { progress: at(60, 'cancelled') },
  ),
};
