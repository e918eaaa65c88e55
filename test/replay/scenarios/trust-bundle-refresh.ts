import type { TrustBundleActivities } from '../../../src/activities/exchange/trust-bundle.ts';
import {
  trustBundleRefreshWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import type {
  TrustBundleRefreshed,
  TrustBundleRefreshInput,
} from '../../../src/contract/trust-bundle-workflow.ts';
import { inTurn, type Scenario } from './scenario.ts';

export const trustBundleRefreshScenarios: Record<string, Scenario> = {
  'trust-bundle-refresh/read-v1': {
    workflowType: WORKFLOW_TYPES.trustBundleRefresh,
    workflowId: trustBundleRefreshWorkflowId('directtrust'),
    args: [{ bundle: 'directtrust' } satisfies TrustBundleRefreshInput],
    taskQueue: 'background-exchange',
    activities: {
      'background-exchange': {
        refreshTrustBundle: inTurn<TrustBundleRefreshed>({
          read: 130,
          anchors: 127,
          added: 2,
          removed: 1,
          refused: 3,
        }),
      } satisfies TrustBundleActivities,
    },
  },
};
