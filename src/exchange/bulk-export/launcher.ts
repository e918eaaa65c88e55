import type { Client } from '@temporalio/client';
import {
  BULK_EXPORT_END_REASONS,
  BULK_EXPORT_MESSAGES,
  type BulkExportInput,
} from '../../contract/bulk-export-workflow.ts';
import { bulkExportWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import type { Store } from '../platform/database/database.ts';
import { deleting, itemRecovery, type Recovery } from '../platform/recovery/recovery.ts';
import { createBackground, startOnce } from '../platform/workflows/start-workflow.ts';
import {
  endExport,
  exportsToClear,
  exportsToEnsure,
  isExportRunning,
  markExportStarted,
  markFilesDeleted,
  readParts,
} from './export-store.ts';

/** Starts the workflows of exports, and deletes files. */
export interface ExportLauncher {
  /** Starts the workflow of a committed export in the background. If that fails, `reconcile` starts it later. */
  launch(accountId: string, exportId: string): void;
  /** Tells the workflow of a cancelled export, which may be paused, and deletes its files, in the background. */
  stop(accountId: string, exportId: string): void;
  recoveries: Recovery[];
  drain(): Promise<void>;
}

/** How long `reconcile` leaves a new export to the process that committed it. */
const GRACE_MS = 5_000;
const SIGNAL_TIMEOUT_MS = 5_000;
/** How long the files of a completed export can be downloaded. */
export const FILES_KEPT_HOURS = 72;

export function createExportLauncher(deps: {
  store: Store;
  blobs: BlobStore;
  temporal: Client;
  logger: Logger;
}): ExportLauncher {
  const { store } = deps;
  const background = createBackground(deps.logger);

  async function start(accountId: string, exportId: string): Promise<'open' | 'closed'> {
    const input: BulkExportInput = { accountId, exportId };
    const state = await startOnce(deps.temporal, {
      type: WORKFLOW_TYPES.bulkExport,
      id: bulkExportWorkflowId(exportId),
      input,
      accountId,
      requestId: exportId,
      priority: PRIORITY.bulk,
      summary: 'Bulk export',
      details: WORKFLOW_DETAILS,
      isOpen: () => store.asAccount(accountId, (tx) => isExportRunning(tx, exportId)),
    });
    await store.asAccount(accountId, async (tx) => {
      await markExportStarted(tx, exportId);
      if (state === 'closed')
        await endExport(tx, exportId, { status: 'failed', reason: BULK_EXPORT_END_REASONS.workflowGone });
    });
    return state;
  }

  /** Blobs first: a crash in between leaves rows of deleted blobs, and the next round completes it. */
  async function clear(accountId: string, exportId: string): Promise<void> {
    const parts = await store.asAccount(accountId, (tx) => readParts(tx, exportId));
    for (const { ref } of parts) await deps.blobs.delete(ref);
    await store.asAccount(accountId, (tx) => markFilesDeleted(tx, exportId));
  }

  return {
    launch: (accountId, exportId) =>
      background.run('bulk export not started yet; reconcile will start it', { exportId }, () =>
        start(accountId, exportId),
      ),
    stop: (accountId, exportId) =>
      background.run(
        'files of a bulk export not deleted yet; reconcile will delete them',
        { exportId },
        async () => {
          await clear(accountId, exportId);
          const handle = deps.temporal.workflow.getHandle(bulkExportWorkflowId(exportId));
          await deps.temporal
            .withDeadline(Date.now() + SIGNAL_TIMEOUT_MS, () => handle.signal(BULK_EXPORT_MESSAGES.resume))
            .catch(() => undefined);
        },
      ),
    recoveries: [
      itemRecovery({
        name: 'bulk exports',
        find: (limit, lookAgainBefore) =>
          store.asSystem((tx) => exportsToEnsure(tx, { olderThanMs: GRACE_MS, lookAgainBefore, limit })),
        heal: async ({ accountId, exportId, isStarted }) =>
          (await start(accountId, exportId)) === 'closed' || !isStarted,
      }),
      deleting(
        itemRecovery({
          name: 'files of bulk exports',
          find: (limit) => store.asSystem((tx) => exportsToClear(tx, { keptHours: FILES_KEPT_HOURS, limit })),
          async heal({ accountId, exportId }) {
            await clear(accountId, exportId);
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
  'Writes the records of a cohort, or of all patients, as NDJSON files (FHIR Bulk Data Access).',
  '',
  '1. **listExportPatients** lists the patients.',
  '2. **exportSlices** writes slices of about 8 MB, each with a checkpoint in PostgreSQL, for half a minute at a time.',
  '3. If that fails permanently, **failExport** ends the export as failed.',
  '',
  'Signals: `pause` and `resume`. A caller cancels it by DELETE on its status URL.',
].join('\n');
