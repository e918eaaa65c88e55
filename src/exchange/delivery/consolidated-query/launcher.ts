import type { Client } from '@temporalio/client';
import {
  CONSOLIDATED_END_REASONS,
  type ConsolidatedQueryInput,
} from '../../../contract/consolidated-query-workflow.ts';
import { consolidatedQueryWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../../platform/database/database.ts';
import { deleting, itemRecovery, type Recovery } from '../../platform/recovery/recovery.ts';
import { createWorkLauncher, type WorkLauncher } from '../../platform/workflows/launcher.ts';
import { consolidatedRows, markResultDeleted, resultsToDelete } from './query-store.ts';
import { failConsolidated } from './transitions.ts';

/** Starts the workflows of consolidated queries. */
export type ConsolidatedLauncher = Pick<WorkLauncher, 'launch' | 'drain'> & { recoveries: Recovery[] };

/** Longer than webhook delivery attempts and the validity of their links together. */
const RESULT_RETENTION_DAYS = 7;

export function createConsolidatedLauncher(deps: {
  store: Store;
  blobs: BlobStore;
  temporal: Client;
  logger: Logger;
}): ConsolidatedLauncher {
  const { store } = deps;
  const { launch, recovery, drain } = createWorkLauncher(deps, {
    name: 'consolidated queries',
    id: 'requestId',
    rows: consolidatedRows,
    notStarted: 'consolidated query not started yet; reconcile will',
    type: WORKFLOW_TYPES.consolidatedQuery,
    workflowId: consolidatedQueryWorkflowId,
    input: (accountId, requestId): ConsolidatedQueryInput => ({ accountId, requestId }),
    priority: PRIORITY.interactive,
    summary: 'Consolidated query',
    details: WORKFLOW_DETAILS,
    end: (tx, requestId) => failConsolidated(tx, requestId, CONSOLIDATED_END_REASONS.workflowGone),
  });

  return {
    launch,
    recoveries: [
      recovery,
      deleting(
        itemRecovery({
          name: 'consolidated results past their retention',
          find: (limit) =>
            store.asSystem((tx) => resultsToDelete(tx, { endedBeforeDays: RESULT_RETENTION_DAYS, limit })),
          async heal({ accountId, requestId, ref }) {
            await deps.blobs.delete(ref);
            await store.asAccount(accountId, (tx) => markResultDeleted(tx, requestId));
            return true;
          },
        }),
      ),
    ],
    drain,
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const WORKFLOW_DETAILS = [
  'Builds the result of one consolidated data query from a patient’s merged record and announces it by webhook.',
  '',
  '1. **buildConsolidated** brings the record up to date, streams it into the blob store (as FHIR, html or pdf), and commits the result and its webhook event in one transaction. It queries no source.',
  '2. If that fails permanently, **failConsolidated** ends the query as failed and announces that by webhook.',
].join('\n');
