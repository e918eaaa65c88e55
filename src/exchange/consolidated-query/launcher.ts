import type { Client } from '@temporalio/client';
import {
  CONSOLIDATED_END_REASONS,
  type ConsolidatedQueryInput,
} from '../../contract/consolidated-query-workflow.ts';
import { consolidatedQueryWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import type { Store } from '../platform/database/database.ts';
import { deleting, itemRecovery, type Recovery } from '../platform/recovery/recovery.ts';
import { createBackground, startOnce } from '../platform/workflows/start-workflow.ts';
import {
  consolidatedToEnsure,
  markConsolidatedStarted,
  markResultDeleted,
  readConsolidatedQuery,
  resultsToDelete,
} from './query-store.ts';
import { failConsolidated } from './transitions.ts';

/** Starts the workflows of consolidated queries. */
export interface ConsolidatedLauncher {
  /** Starts the workflow of a committed query in the background. If that fails, `reconcile` starts it later. */
  launch(accountId: string, requestId: string): void;
  recoveries: Recovery[];
  drain(): Promise<void>;
}

/** How long `reconcile` leaves a new query to the process that committed it. */
const GRACE_MS = 5_000;
/** Longer than webhook delivery attempts and the validity of their links together. */
const RESULT_RETENTION_DAYS = 7;

export function createConsolidatedLauncher(deps: {
  store: Store;
  blobs: BlobStore;
  temporal: Client;
  logger: Logger;
}): ConsolidatedLauncher {
  const { store } = deps;
  const background = createBackground(deps.logger);

  async function start(accountId: string, requestId: string): Promise<'open' | 'closed'> {
    const input: ConsolidatedQueryInput = { accountId, requestId };
    const state = await startOnce(deps.temporal, {
      type: WORKFLOW_TYPES.consolidatedQuery,
      id: consolidatedQueryWorkflowId(requestId),
      input,
      accountId,
      requestId,
      priority: PRIORITY.interactive,
      summary: 'Consolidated query',
      details: WORKFLOW_DETAILS,
      async isOpen() {
        const row = await store.asAccount(accountId, (tx) => readConsolidatedQuery(tx, requestId));
        return row?.status === 'processing';
      },
    });
    await store.asAccount(accountId, async (tx) => {
      await markConsolidatedStarted(tx, requestId);
      if (state === 'closed') await failConsolidated(tx, requestId, CONSOLIDATED_END_REASONS.workflowGone);
    });
    return state;
  }

  return {
    launch(accountId, requestId) {
      background.run('consolidated query not started yet; reconcile will', { requestId }, () =>
        start(accountId, requestId),
      );
    },
    recoveries: [
      itemRecovery({
        name: 'consolidated queries',
        find: (limit, lookAgainBefore) =>
          store.asSystem((tx) => consolidatedToEnsure(tx, { olderThanMs: GRACE_MS, lookAgainBefore, limit })),
        heal: async ({ accountId, requestId, isStarted }) =>
          (await start(accountId, requestId)) === 'closed' || !isStarted,
      }),
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
    drain: () => background.drain(),
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const WORKFLOW_DETAILS = [
  'Builds the result of one consolidated data query from a patient’s merged record and announces it by webhook.',
  '',
  '1. **buildConsolidated** brings the record up to date, streams it into the blob store (as FHIR, html or pdf), and commits the result and its webhook event in one transaction. It queries no source.',
  '2. If that fails permanently, **failConsolidated** ends the query as failed and announces that by webhook.',
].join('\n');
