import type { BulkUpload } from '../../../contract/bulk-create.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobRef, BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { ExchangeError, InvalidRequestError, NotFoundError } from '../../platform/errors.ts';
import { type BulkRequestView, readBulkRequest } from './request-store.ts';
import { beginProcessing } from './transitions.ts';
import { beginUpload, renewUpload, UPLOAD_LEASE_MS } from './upload-store.ts';

export interface UploadReceiver {
  /**
   * Stores the file and moves its request to processing. An upload that began before the URL expired is accepted however
   * long it takes; of parallel uploads the first complete one is accepted. `inCommit` runs in the transaction of the change
   * (for the audit entry). Throws 404, 409 (with the accepted upload), 410, and any error of `body`; the stored bytes are
   * deleted then.
   */
  receive(
    of: { accountId: string; requestId: string },
    body: AsyncIterable<Uint8Array>,
    inCommit: (tx: AccountTx) => Promise<void>,
  ): Promise<BulkUpload>;
}

export function createUploadReceiver(deps: {
  store: Store;
  blobs: BlobStore;
  logger: Logger;
}): UploadReceiver {
  const { store, blobs } = deps;

  return {
    async receive({ accountId, requestId }, body, inCommit) {
      await store.asAccount(accountId, async (tx) => {
        if (!(await beginUpload(tx, requestId))) throw refusal(await readBulkRequest(tx, requestId));
      });
      const blob = await renewing(
        () => store.asAccount(accountId, (tx) => renewUpload(tx, requestId)),
        () => blobs.put('upload', body, 'text/csv'),
      );
      try {
        if (blob.sizeBytes === 0) throw emptyBody();
        await store.asAccount(accountId, async (tx) => {
          if (!(await beginProcessing(tx, requestId, blob)))
            throw refusal(await readBulkRequest(tx, requestId));
          await inCommit(tx);
        });
        return uploadOf(requestId, 'processing', blob);
      } catch (error) {
        await discard(accountId, requestId, blob);
        throw error;
      }
    },
  };

  /** Deletes a stored file that was not accepted. If that cannot be determined, the file stays. */
  async function discard(accountId: string, requestId: string, blob: BlobRef): Promise<void> {
    try {
      const request = await store.asAccount(accountId, (tx) => readBulkRequest(tx, requestId));
      if (request?.upload?.ref !== blob.ref) await blobs.delete(blob.ref);
    } catch (err) {
      deps.logger.warn(
        { err, bulkRequestId: requestId, blob: blob.ref },
        'could not delete an upload that was not accepted; its blob may remain',
      );
    }
  }
}

/** Runs `work` and renews the upload's lease meanwhile. A failed renewal is ignored: the next one makes up for it. */
async function renewing<T>(renew: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void renew().catch(() => undefined), UPLOAD_LEASE_MS / 3);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

const uploadOf = (
  requestId: string,
  status: BulkUpload['status'],
  { sha256, sizeBytes }: BlobRef,
): BulkUpload => ({ requestId, status, sha256, sizeBytes });

/** The error for a request that does not accept an upload: unknown, already uploaded, failed or expired. */
function refusal(request: BulkRequestView | undefined): ExchangeError {
  if (request === undefined) return new NotFoundError('Bulk create');
  const { requestId, status, upload } = request;
  if (upload !== undefined) {
    return new ExchangeError(
      409,
      `The file has been uploaded already (status ${status}, sha256 ${upload.sha256}); start a new bulk create for another file`,
      { members: { upload: uploadOf(requestId, status, upload) } },
    );
  }
  const why =
    status === 'failed'
      ? `The bulk create has failed (${request.reason ?? 'no reason recorded'})`
      : 'The upload URL has expired';
  return new ExchangeError(410, `${why}; start a new bulk create`);
}

const emptyBody = (): ExchangeError =>
  new InvalidRequestError([{ path: '', message: 'The body is empty; send the CSV file as the raw body' }]);
