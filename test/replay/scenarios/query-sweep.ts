import { setTimeout as sleep } from 'node:timers/promises';
import type { SweepActivities } from '../../../src/activities/exchange/query-sweep.ts';
import {
  DEFAULT_SWEEP_PACE,
  QUERY_SWEEP_MESSAGES,
  type QuerySweepInput,
  type QuerySweepProgress,
} from '../../../src/contract/bulk-create-workflow.ts';
import {
  querySweepWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const at = (
  started: number,
  state: QuerySweepProgress['state'] = 'running',
): QuerySweepProgress => ({
  requestId: REQUEST_ID,
  state,
  patients: 120,
  started,
  skipped: 1,
  failed: 0,
  open: 40,
});

const sweep = (
  activities: Partial<SweepActivities>,
): Omit<Scenario, 'meanwhile'> => ({
  workflowType: WORKFLOW_TYPES.querySweep,
  workflowId: querySweepWorkflowId(REQUEST_ID),
  args: [
    {
      accountId: ACCOUNT_ID,
      requestId: REQUEST_ID,
      pace: DEFAULT_SWEEP_PACE,
    } satisfies QuerySweepInput,
  ],
  activities: {
    exchange: {
      beginSweep: inTurn(at(0)),
      recordSweepState: async ({ state }) => at(50, state),
      ...activities,
    } satisfies Partial<SweepActivities>,
  },
});

export const querySweepScenarios: Record<string, Scenario> = {
  'query-sweep/window-limit-completed-v1': sweep({
    startSweepPage: inTurn<
      Awaited<ReturnType<SweepActivities['startSweepPage']>>
    >(
      { progress: at(50) },
      { progress: at(50), waitFor: { what: 'window' } },
      { progress: at(96), waitFor: { what: 'limit', resetMs: 400 } },
      { progress: at(119, 'completed') },
    ),
  }),
  'query-sweep/paused-resumed-cancelled-v1': {
    ...sweep({
      startSweepPage: inTurn({
        progress: at(50),
        waitFor: { what: 'window' as const },
      }),
    }),
    async meanwhile(handle) {
      await sleep(500);
      await handle.executeUpdate(QUERY_SWEEP_MESSAGES.pause);
      await sleep(1_500);
      await handle.executeUpdate(QUERY_SWEEP_MESSAGES.resume);
      await sleep(300);
      await handle.executeUpdate(QUERY_SWEEP_MESSAGES.cancel);
    },
  },
};
