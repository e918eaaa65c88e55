import type { Client } from '@temporalio/client';
import { type QueryRedriveInput, REDRIVE_PAGES_PER_RUN } from '../../contract/query-redrive-workflow.ts';
import { PRIORITY, queryRedriveWorkflowId, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../platform/database/database.ts';
import { itemRecovery, type Recovery } from '../platform/recovery/recovery.ts';
import { createBackground, startOnce, wasEndedByHand } from '../platform/workflows/start-workflow.ts';
import { endRedrive, markRedriveSeen, redrivesToEnsure } from './redrive-store.ts';

export interface RedriveLauncher {
  /** Starts the workflow of a committed redrive in the background. If that fails, `reconcile` starts it later. */
  launch(accountId: string, redriveId: string): void;
  recovery: Recovery;
  drain(): Promise<void>;
}

/** How long `reconcile` leaves a new redrive to the process that committed it. */
const GRACE_MS = 5_000;

export function createRedriveLauncher(deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
}): RedriveLauncher {
  const { store } = deps;
  const background = createBackground(deps.logger);

  /** A workflow that Temporal has lost or failed is started again under the same id, and continues from the place in PostgreSQL. */
  async function start(accountId: string, redriveId: string): Promise<void> {
    const input: QueryRedriveInput = { accountId, redriveId, pagesPerRun: REDRIVE_PAGES_PER_RUN };
    await startOnce(deps.temporal, {
      type: WORKFLOW_TYPES.queryRedrive,
      id: queryRedriveWorkflowId(redriveId),
      input,
      accountId,
      requestId: redriveId,
      priority: PRIORITY.bulk,
      summary: 'Redrive of failed queries',
      details: WORKFLOW_DETAILS,
      againAfterItsEnd: true,
      isOpen: async () => true,
    });
    await store.asAccount(accountId, (tx) => markRedriveSeen(tx, redriveId));
  }

  return {
    launch: (accountId, redriveId) =>
      background.run('redrive not started yet; reconcile will start it', { redriveId }, () =>
        start(accountId, redriveId),
      ),
    recovery: itemRecovery({
      name: 'redrives',
      find: (limit, lookAgainBefore) =>
        store.asSystem((tx) => redrivesToEnsure(tx, { olderThanMs: GRACE_MS, lookAgainBefore, limit })),
      heal: async ({ accountId, redriveId, isStarted }) => {
        // An operator who cancels or terminates it in Temporal has decided.
        if (await wasEndedByHand(deps.temporal, queryRedriveWorkflowId(redriveId))) {
          await store.asAccount(accountId, (tx) => endRedrive(tx, redriveId, 'cancelled'));
          return true;
        }
        await start(accountId, redriveId);
        return !isStarted;
      },
    }),
    drain: () => background.drain(),
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const WORKFLOW_DETAILS = [
  'Retries one source of all queries that failed in a given time.',
  '',
  'Each page waits until fewer than 50 of its retries are being asked, and less than 72 % of the source’s limit per minute is',
  'used. A query that was retried or has completed meanwhile is skipped.',
  '',
  'A caller cancels it through the interface, an operator also here; queries already retried continue.',
].join('\n');
