import { BULK_END_REASONS } from '../../contract/bulk-create-steps.ts';
import type { Logger } from '../../lib/logger.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import { clearParts, listParts } from './chunk-store.ts';
import type { BulkLauncher } from './launcher.ts';
import {
  markUploadDeleted,
  requestsToEnsure,
  type UnfinishedRequest,
  uploadsToDelete,
  uploadsToSignal,
} from './recovery-store.ts';
import { failBulkCreate } from './transitions.ts';
import { deleteTrialKeys } from './trial-store.ts';

/** The process that committed a change has this long to start or signal the workflow itself. */
const GRACE_MS = 5_000;
/** How long an uploaded CSV is kept after its request has ended. */
const UPLOAD_RETENTION_DAYS = 7;

interface BulkRecoveryDeps {
  store: Store;
  blobs: BlobStore;
  launcher: BulkLauncher;
  logger: Logger;
}

/**
 * Starts the workflow of open requests that have none, and signals uploads that were not signalled. A request whose workflow
 * was terminated is ended as failed.
 */
export function bulkCreateRecovery(deps: BulkRecoveryDeps): Recovery {
  const { store, launcher } = deps;

  async function settle(request: UnfinishedRequest, reach: BulkLauncher['start']): Promise<void> {
    const { accountId, requestId } = request;
    if ((await reach(accountId, requestId)) === 'open') return;
    await store.asAccount(accountId, (tx) => failBulkCreate(tx, requestId, BULK_END_REASONS.workflowGone));
  }

  return {
    name: 'bulk creates',
    async takeUp(limit) {
      const options = { olderThanMs: GRACE_MS, limit };
      const [unstarted, unsignalled] = await store.asSystem(async (tx) => [
        await requestsToEnsure(tx, options),
        await uploadsToSignal(tx, options),
      ]);
      const failures = [
        ...(await inTurn(unstarted, (request) => settle(request, launcher.start))),
        ...(await inTurn(unsignalled, (request) => settle(request, launcher.signalUpload))),
      ];
      if (failures.length > 0) throw failures[0];
      return unstarted.length + unsignalled.length;
    },
  };
}

/**
 * Deletes uploaded CSVs a week after the end of their request, however it ended, together with the parts of a result that
 * was never joined. Hash and size of the upload stay with the request.
 */
export function uploadRetention({ store, blobs, logger }: BulkRecoveryDeps): Recovery {
  return {
    name: 'uploads past their retention',
    async takeUp(limit) {
      const uploads = await store.asSystem((tx) =>
        uploadsToDelete(tx, { endedBeforeDays: UPLOAD_RETENTION_DAYS, limit }),
      );
      const failures = await inTurn(uploads, async ({ accountId, requestId, ref }) => {
        const parts = await store.asAccount(accountId, (tx) => listParts(tx, requestId));
        for (const { part } of parts) if (part !== null) await blobs.delete(part.ref);
        await blobs.delete(ref);
        await store.asAccount(accountId, async (tx) => {
          await clearParts(tx, requestId);
          await deleteTrialKeys(tx, requestId);
          await markUploadDeleted(tx, requestId);
        });
      });
      if (uploads.length > 0)
        logger.info({ uploads: uploads.length }, 'deleted uploads past their retention');
      if (failures.length > 0) throw failures[0];
      return uploads.length;
    },
  };
}

/** Works on all items, one after the other, and returns the errors of those that failed. */
async function inTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error));
  return failures;
}
