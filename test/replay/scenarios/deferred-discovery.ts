import { ApplicationFailure } from '@temporalio/common';
import type { DeferredDiscoveryActivities } from '../../../src/activities/exchange/deferred-discovery.ts';
import type {
  DeferredDiscoveryInput,
  DeferredDiscoveryStep,
} from '../../../src/contract/deferred-discovery-workflow.ts';
import {
  deferredDiscoveryWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const run = (
  deliverDiscoveryAnswer: DeferredDiscoveryActivities['deliverDiscoveryAnswer'],
): Scenario => ({
  workflowType: WORKFLOW_TYPES.deferredDiscovery,
  workflowId: deferredDiscoveryWorkflowId(REQUEST_ID),
  args: [
    {
      accountId: ACCOUNT_ID,
      questionId: REQUEST_ID,
    } satisfies DeferredDiscoveryInput,
  ],
  activities: {
    partners: {
      deliverDiscoveryAnswer,
    } satisfies Partial<DeferredDiscoveryActivities>,
    exchange: {
      failDiscoveryAnswer: async () => ({ state: 'failed' }),
    } satisfies Partial<DeferredDiscoveryActivities>,
  },
});

export const deferredDiscoveryScenarios: Record<string, Scenario> = {
  'deferred-discovery/delivered-at-the-second-try-v1': run(
    inTurn<DeferredDiscoveryStep>(
      ApplicationFailure.create({ message: 'away' }),
      {
        state: 'delivered',
      },
    ),
  ),
  'deferred-discovery/not-taken-v1': run(
    inTurn<DeferredDiscoveryStep>(
      ApplicationFailure.nonRetryable('it takes no answers'),
    ),
  ),
};
