import type { DirectoryActivities } from '../../../src/activities/exchange/directory.ts';
import type {
  DirectoryLoaded,
  DirectoryRefreshInput,
} from '../../../src/contract/directory-refresh-workflow.ts';
import {
  directoryRefreshWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { inTurn, type Scenario } from './scenario.ts';

export const directoryRefreshScenarios: Record<string, Scenario> = {
  'directory-refresh/loaded-v1': {
    workflowType: WORKFLOW_TYPES.directoryRefresh,
    workflowId: directoryRefreshWorkflowId('carequality'),
    args: [{ directory: 'carequality' } satisfies DirectoryRefreshInput],
    taskQueue: 'background-exchange',
    activities: {
      'background-exchange': {
        loadDirectory: inTurn<DirectoryLoaded>({
          read: 25_000,
          added: 40,
          changed: 200,
          unchanged: 24_690,
          repeated: 60,
          parts: 0,
          ignored: 0,
          refused: 10,
          remarked: 1_600,
          removed: 12,
        }),
      } satisfies DirectoryActivities,
    },
  },
};
