import type { Client } from '@temporalio/client';
import {
  BULK_EXPORT_END_REASONS,
  BULK_EXPORT_MESSAGES,
  type BulkExportInput,
} from '../../../contract/bulk-export-workflow.ts';
import {
  bulkExportWorkflowId,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../../platform/database/database.ts';
import {
  deleting,
  itemRecovery,
  type Recovery,
} from '../../platform/recovery/recovery.ts';
import {
  createWorkLauncher,
  type WorkLauncher,
} from '../../platform/workflows/launcher.ts';
import {
  endExport,
  exportRows,
  exportsToClear,
  markFilesDeleted,
  readExportParts,
} from './export-store.ts';

/** Starts the workflows of exports, and deletes files. */
export type ExportLauncher = Pick<WorkLauncher, 'launch' | 'drain'> & {
  /**
   * Signals the workflow of a cancelled export, which may be paused, and
   * deletes its files, in the background.
   */
  stop(accountId: string, exportId: string): void;
  recoveries: Recovery[];
};

/** How long the files of a completed export can be downloaded. */
export const FILES_KEPT_HOURS = 72;

export function createExportLauncher(deps: {
  store: Store;
  blobs: BlobStore;
  temporal: Client;
  logger: Logger;
}): ExportLauncher {
  const { store } = deps;
  const { launch, signal, recovery, background, drain } = createWorkLauncher(
    deps,
    {
      name: 'bulk exports',
      id: 'exportId',
      rows: exportRows,
      notStarted: 'bulk export not started yet; reconcile will start it',
      type: WORKFLOW_TYPES.bulkExport,
      workflowId: bulkExportWorkflowId,
      input: (accountId, exportId): BulkExportInput => ({
        accountId,
        exportId,
      }),
      priority: PRIORITY.bulk,
      summary: 'Bulk export',
      end: (tx, exportId) =>
        endExport(tx, exportId, {
          status: 'failed',
          reason: BULK_EXPORT_END_REASONS.workflowGone,
        }),
    },
  );

  /**
   * Blobs first: a crash in between leaves rows of deleted blobs, and the next
   * round completes it.
   */
  async function clear(accountId: string, exportId: string): Promise<void> {
    const parts = await store.asAccount(accountId, (tx) =>
      readExportParts(tx, exportId),
    );
    for (const { ref } of parts) await deps.blobs.delete(ref);
    await store.asAccount(accountId, (tx) => markFilesDeleted(tx, exportId));
  }

  return {
    launch,
    stop: (accountId, exportId) =>
      background.run(
        'files of a bulk export not deleted yet; reconcile will delete them',
        { exportId },
        async () => {
          await clear(accountId, exportId);
          await signal(exportId, BULK_EXPORT_MESSAGES.resume).catch(
            () => undefined,
          );
        },
      ),
    recoveries: [
      recovery,
      deleting(
        itemRecovery({
          name: 'files of bulk exports',
          find: (limit) =>
            store.asSystem((tx) =>
              exportsToClear(tx, { keptHours: FILES_KEPT_HOURS, limit }),
            ),
          async heal({ accountId, exportId }) {
            await clear(accountId, exportId);
            return true;
          },
        }),
      ),
    ],
    drain,
  };
}
