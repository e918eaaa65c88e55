import type { BulkUpload } from '../../contract/bulk-create.ts';
import type { Logger } from '../../lib/logger.ts';
import type { BlobRef, BlobStore } from '../../shared/blobs/blob-store.ts';
import type { AccountTx, Store } from '../platform/database/database.ts';
import { ExchangeError, InvalidRequestError, NotFoundError } from '../platform/errors.ts';
import { type BulkRequestView, readBulkRequest } from './request-store.ts';
import { beginProcessing } from './transitions.ts';
import { beginUpload, renewUpload, UPLOAD_LEASE_MS } from './upload-store.ts';

export interface UploadReceiver {
  /**
   * Keeps the file and moves its request to processing. An upload begun before the URL expired counts, however long
   * it takes; of several the first that is whole. `inCommit` joins the transaction of that change (audit).
   * Throws 404, 409 with what is there already, 410, and whatever `body` throws; then nothing is left behind.
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
      const blob = await whileAlive(
        () => store.asAccount(accountId, (tx) => renewUpload(tx, requestId)),
        () => blobs.put('upload', body, 'text/csv'),
      );
      try {
        if (blob.sizeBytes === 0) throw empty();
        await store.asAccount(accountId, async (tx) => {
          if (!(await beginProcessing(tx, requestId, blob)))
            throw refusal(await readBulkRequest(tx, requestId));
          await inCommit(tx);
        });
        return uploadOf(requestId, 'processing', blob);
      } catch (error) {
        await forget(accountId, requestId, blob);
        throw error;
      }
    },
  };

  /** Deletes a file that was not taken; when it cannot be known whether it was, it stays. */
  async function forget(accountId: string, requestId: string, blob: BlobRef): Promise<void> {
    try {
      const request = await store.asAccount(accountId, (tx) => readBulkRequest(tx, requestId));
      if (request?.upload?.ref !== blob.ref) await blobs.delete(blob.ref);
    } catch (err) {
      deps.logger.warn({ err, bulkRequestId: requestId, blob: blob.ref }, 'an upload may be left behind');
    }
  }
}

/** Runs `work` with a sign of life now and then; one that fails is made up for by the next. */
async function whileAlive<T>(sign: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void sign().catch(() => undefined), UPLOAD_LEASE_MS / 3);
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

function refusal(request: BulkRequestView | undefined): ExchangeError {
  if (request === undefined) return new NotFoundError('Bulk create');
  const { requestId, status, upload } = request;
  if (upload !== undefined) {
    return new ExchangeError(
      409,
      `The file has been uploaded already (status ${status}, sha256 ${upload.sha256}); start a new bulk create for another one`,
      { members: { upload: uploadOf(requestId, status, upload) } },
    );
  }
  const why =
    status === 'failed'
      ? `The bulk create has failed: ${request.reason ?? ''}`
      : 'The upload URL has expired';
  return new ExchangeError(410, `${why}; start a new bulk create`);
}

const empty = (): ExchangeError =>
  new InvalidRequestError([{ path: '', message: 'The body is empty: send the CSV file as the raw body' }]);
