import type { Client } from '@temporalio/client';
import { type QueryRedriveInput, REDRIVE_PAGES_PER_RUN } from '../../../contract/query-redrive-workflow.ts';
import { PRIORITY, queryRedriveWorkflowId, WORKFLOW_TYPES } from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { Store } from '../../platform/database/database.ts';
import { createWorkLauncher, type WorkLauncher } from '../../platform/workflows/launcher.ts';
import { endRedrive, redriveRows } from './redrive-store.ts';

export type RedriveLauncher = Pick<WorkLauncher, 'launch' | 'recovery' | 'drain'>;

/** A workflow that Temporal has lost or failed is started again under the same id, and continues from the place in PostgreSQL. */
export const createRedriveLauncher = (deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
}): RedriveLauncher =>
  createWorkLauncher(deps, {
    name: 'redrives',
    id: 'redriveId',
    rows: redriveRows,
    notStarted: 'redrive not started yet; reconcile will start it',
    type: WORKFLOW_TYPES.queryRedrive,
    workflowId: queryRedriveWorkflowId,
    input: (accountId, redriveId): QueryRedriveInput => ({
      accountId,
      redriveId,
      pagesPerRun: REDRIVE_PAGES_PER_RUN,
    }),
    priority: PRIORITY.bulk,
    summary: 'Redrive of failed queries',
    details: WORKFLOW_DETAILS,
    againAfterItsEnd: true,
    end: (tx, redriveId) => endRedrive(tx, redriveId, 'cancelled'),
  });

/** Shown on the workflow's page in the Temporal UI. */
const WORKFLOW_DETAILS = [
  'Retries one source of all queries that failed in a given time.',
  '',
  'Each page waits until fewer than 50 of its retries are being asked, and less than 72 % of the source’s limit per minute is',
  'used. A query that was retried or has completed meanwhile is skipped.',
  '',
  'A caller cancels it through the interface, an operator also here; queries already retried continue.',
].join('\n');
