import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import type { BulkExportActivities } from '../../../src/activities/exchange/bulk-export.ts';
import {
  BULK_EXPORT_MESSAGES,
  type BulkExportInput,
  type BulkExportProgress,
} from '../../../src/contract/bulk-export-workflow.ts';
import {
  bulkExportWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const at = (
  state: BulkExportProgress['state'],
  done: number,
): BulkExportProgress => ({
  state,
  patients: 3,
  done,
  resources: done * 100,
});

const run = (exportSlices: BulkExportActivities['exportSlices']): Scenario => ({
  workflowType: WORKFLOW_TYPES.bulkExport,
  workflowId: bulkExportWorkflowId(REQUEST_ID),
  args: [
    { accountId: ACCOUNT_ID, exportId: REQUEST_ID } satisfies BulkExportInput,
  ],
  activities: {
    builds: {
      listExportPatients: async () => at('running', 0),
      exportSlices,
    } satisfies Partial<BulkExportActivities>,
    exchange: {
      failExport: async () => at('failed', 1),
    } satisfies Partial<BulkExportActivities>,
  },
});

export const bulkExportScenarios: Record<string, Scenario> = {
  'bulk-export/completed-v1': run(
    inTurn(at('running', 1), at('running', 2), at('completed', 3)),
  ),
  'bulk-export/failed-v1': run(
    inTurn<BulkExportProgress>(
      ApplicationFailure.nonRetryable('cannot be written'),
    ),
  ),
  'bulk-export/paused-then-cancelled-v1': {
    ...run(async () => {
      await sleep(500);
      return at('cancelled', 1);
    }),
    async meanwhile(handle) {
      await handle.signal(BULK_EXPORT_MESSAGES.pause);
      await sleep(500);
      await handle.signal(BULK_EXPORT_MESSAGES.resume);
    },
  },
};
