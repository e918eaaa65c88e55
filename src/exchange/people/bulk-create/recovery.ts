import { BULK_END_REASONS } from '../../../contract/bulk-create-workflow.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  deleting,
  itemRecovery,
  type Recovery,
} from '../../platform/recovery/recovery.ts';
import { clearParts, listParts } from './chunk-store.ts';
import type { BulkLauncher } from './launcher.ts';
import { deleteTrialKeys } from './patient-store.ts';
import {
  markUploadDeleted,
  requestRows,
  type UnfinishedRequest,
  uploadsToDelete,
  uploadsToSignal,
} from './request-store.ts';
import { failBulkCreate } from './transitions.ts';

/**
 * The process that committed a change has this long to start or signal the
 * workflow itself.
 */
const GRACE_MS = 5_000;
/** How long an uploaded CSV is kept after its request has ended. */
const UPLOAD_RETENTION_DAYS = 7;

interface BulkRecoveryDeps
  extends Pick<Platform, 'store' | 'blobs' | 'logger'> {
  launcher: BulkLauncher;
}

/**
 * Starts the workflow of open requests that have none, and signals uploads that
 * were not signalled. A request whose workflow was terminated is ended as
 * failed.
 */
export function bulkCreateRecoveries(deps: BulkRecoveryDeps): Recovery[] {
  const { store, launcher } = deps;

  /**
   * Returns whether the workflow is open. Ends a request whose workflow has
   * closed.
   */
  async function settle(
    request: UnfinishedRequest,
    reach: BulkLauncher['signalUpload'],
  ): Promise<boolean> {
    const { accountId, requestId } = request;
    if ((await reach(accountId, requestId)) === 'open') return true;
    await store.asAccount(accountId, (tx) =>
      failBulkCreate(tx, requestId, BULK_END_REASONS.workflowGone),
    );
    return false;
  }

  return [
    itemRecovery({
      name: 'bulk creates',
      find: (limit, recheckBefore) =>
        store.asSystem((tx) =>
          requestRows.toEnsure(tx, {
            olderThanMs: GRACE_MS,
            recheckBefore,
            limit,
          }),
        ),
      async heal(request) {
        const { isStarted } = request;
        const isOpen = await settle(request, (accountId, requestId) =>
          launcher.start(accountId, requestId, isStarted),
        );
        return !(isOpen && isStarted);
      },
    }),
    itemRecovery({
      name: 'uploads not signalled',
      find: (limit) =>
        store.asSystem((tx) =>
          uploadsToSignal(tx, { olderThanMs: GRACE_MS, limit }),
        ),
      async heal(request) {
        await settle(request, launcher.signalUpload);
        return true;
      },
    }),
  ];
}

/**
 * Deletes uploaded CSVs a week after the end of their request, however it
 * ended, together with the parts of a result that was never joined. Hash and
 * size of the upload stay with the request.
 */
export function uploadRetention({
  store,
  blobs,
  logger,
}: BulkRecoveryDeps): Recovery {
  return deleting(
    itemRecovery({
      name: 'uploads past their retention',
      find: (limit) =>
        store.asSystem((tx) =>
          uploadsToDelete(tx, {
            endedBeforeDays: UPLOAD_RETENTION_DAYS,
            limit,
          }),
        ),
      async heal({ accountId, requestId, ref }) {
        const parts = await store.asAccount(accountId, (tx) =>
          listParts(tx, requestId),
        );
        for (const { part } of parts)
          if (part !== null) await blobs.delete(part.ref);
        await blobs.delete(ref);
        await store.asAccount(accountId, async (tx) => {
          await clearParts(tx, requestId);
          await deleteTrialKeys(tx, requestId);
          await markUploadDeleted(tx, requestId);
        });
        logger.info(
          { bulkRequestId: requestId },
          'deleted an upload past its retention',
        );
        return true;
      },
    }),
  );
}
