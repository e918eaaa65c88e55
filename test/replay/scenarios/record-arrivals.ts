import type { ArrivalActivities } from '../../../src/activities/exchange/record-arrivals.ts';
import {
  type ArrivalsMerged,
  RECORD_ARRIVALS_MESSAGES,
} from '../../../src/contract/record-arrivals-workflow.ts';
import {
  RECORD_ARRIVALS_WORKFLOW_ID,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { inTurn, type Scenario } from './scenario.ts';

export const recordArrivalsScenarios: Record<string, Scenario> = {
  'record-arrivals/later-woken-and-empty-v1': {
    workflowType: WORKFLOW_TYPES.recordArrivals,
    workflowId: RECORD_ARRIVALS_WORKFLOW_ID,
    args: [],
    taskQueue: 'background-exchange',
    activities: {
      'background-exchange': {
        mergeArrivals: inTurn<ArrivalsMerged>(
          { merged: 2, failed: 0, nextInMs: 4_000 },
          { merged: 1, failed: 1, nextInMs: 60_000 },
          { merged: 1, failed: 0 },
        ),
      } satisfies ArrivalActivities,
    },
    /** The wait of a minute is cut short. */
    async meanwhile(handle) {
      await new Promise((resolve) => setTimeout(resolve, 8_500));
      await handle.signal(RECORD_ARRIVALS_MESSAGES.arrived);
    },
  },
};
