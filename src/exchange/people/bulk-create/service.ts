import {
  type BulkUpload,
  UPLOAD_URL_MINUTES,
} from '../../../contract/bulk-create.ts';
import {
  BULK_END_REASONS,
  BULK_CREATE_MESSAGES as MESSAGES,
} from '../../../contract/bulk-create-workflow.ts';
import { bulkPatientCreateWorkflowId } from '../../../contract/temporal.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { isRolledBack } from '../../platform/database/postgres-errors.ts';
import {
  ConflictError,
  ExchangeError,
  InvalidRequestError,
  NotFoundError,
} from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  commandWorkflow,
  endStuckWorkflow,
  unavailable,
  type WorkflowCommandOutcome,
} from '../../platform/workflows/workflow-command.ts';
import { type BulkLauncher, createBulkLauncher } from './launcher.ts';
import {
  type BulkRequestView,
  readBulkRequest,
  setPaused,
} from './request-store.ts';
import { beginProcessing, failBulkCreate } from './transitions.ts';
import { beginUpload, renewUpload, UPLOAD_LEASE_MS } from './upload-store.ts';

export const UPLOAD_LIFETIME_MS = UPLOAD_URL_MINUTES * 60_000;

export type BulkCreateService = Omit<
  ReturnType<typeof createBulkCreateService>,
  'launcher'
>;

type ServiceDeps = Pick<Platform, 'store' | 'blobs' | 'temporal' | 'logger'> & {
  /** How long a caller waits for a running workflow to accept a command. */
  commandTimeoutMs?: number;
};

/** The bulk create operations of the gateway. */
export function createBulkCreateService(deps: ServiceDeps) {
  const launcher = createBulkLauncher(deps);
  const { launch, announceUpload, drain } = launcher;
  return {
    launcher,
    launch,
    announceUpload,
    drain,
    receiveUpload: createUploadReceiver(deps).receive,
    ...createBulkControl({ ...deps, launcher }),
  };
}

/**
 * Control of a bulk create. Each function returns the request afterwards, and
 * throws 404, 409 or 503.
 */
function createBulkControl(deps: ServiceDeps & { launcher: BulkLauncher }) {
  const { store, launcher } = deps;
  const command = (requestId: string, name: string) =>
    commandWorkflow(
      deps.temporal,
      bulkPatientCreateWorkflowId(requestId),
      name,
      {
        timeoutMs: deps.commandTimeoutMs,
      },
    );

  /** Sends a command to the workflow, starting it if none runs. */
  async function steer(
    accountId: string,
    requestId: string,
    name: string,
  ): Promise<WorkflowCommandOutcome> {
    const outcome = await command(requestId, name);
    if (outcome !== 'closed') return outcome;
    const state = await launcher
      .start(accountId, requestId, true)
      .catch(unavailable);
    return state === 'open' ? command(requestId, name) : 'closed';
  }

  const view = (
    accountId: string,
    requestId: string,
  ): Promise<BulkRequestView> =>
    store.asAccount(accountId, async (tx) => {
      const request = await readBulkRequest(tx, requestId);
      if (request === undefined) throw new NotFoundError('Bulk create');
      return request;
    });

  async function openRequest(
    accountId: string,
    requestId: string,
  ): Promise<BulkRequestView> {
    const request = await view(accountId, requestId);
    if (request.status === 'waiting' || request.status === 'processing')
      return request;
    throw new ConflictError(`The bulk create has ended (${request.status})`);
  }

  /**
   * Ends a request whose workflow has ended without it, and which would
   * otherwise stay open.
   */
  async function end(
    accountId: string,
    requestId: string,
    reason: string,
  ): Promise<void> {
    await store.asAccount(accountId, (tx) =>
      failBulkCreate(tx, requestId, reason),
    );
  }

  async function pauseOrResume(
    accountId: string,
    requestId: string,
    paused: boolean,
  ) {
    const request = await openRequest(accountId, requestId);
    if (request.status === 'waiting' && paused)
      throw new ConflictError(
        'No file has been uploaded yet, so there is nothing to pause',
      );
    // The workflow is asked also when the row is as wanted: an earlier command
    // whose answer was lost may not have reached the row yet, and this one must
    // follow it. Otherwise a late pause would outlast its resume.
    const outcome = await steer(
      accountId,
      requestId,
      paused ? MESSAGES.pause : MESSAGES.resume,
    );
    if (request.paused === paused)
      throw new ConflictError(
        paused
          ? 'The bulk create is already paused'
          : 'The bulk create is not paused',
      );
    if (outcome === 'stuck') {
      await store.asAccount(accountId, (tx) =>
        setPaused(tx, requestId, paused),
      );
      await launcher.replace(accountId, requestId).catch(unavailable);
    }
    if (outcome === 'closed') {
      await end(accountId, requestId, BULK_END_REASONS.workflowGone);
      await openRequest(accountId, requestId);
    }
    return view(accountId, requestId);
  }

  return {
    /** Processes no further rows; rows already processed stay. */
    pauseBulkCreate: (accountId: string, requestId: string) =>
      pauseOrResume(accountId, requestId, true),
    resumeBulkCreate: (accountId: string, requestId: string) =>
      pauseOrResume(accountId, requestId, false),
    /** Ends the request as failed; also while it waits for its file. */
    async cancelBulkCreate(
      accountId: string,
      requestId: string,
    ): Promise<BulkRequestView> {
      await openRequest(accountId, requestId);
      const outcome = await steer(accountId, requestId, MESSAGES.cancel);
      if (outcome !== 'taken')
        await end(accountId, requestId, BULK_END_REASONS.cancelled);
      if (outcome === 'stuck')
        await endStuckWorkflow(
          deps.temporal,
          bulkPatientCreateWorkflowId(requestId),
        ).catch(unavailable);
      return view(accountId, requestId);
    },
  };
}

export function createUploadReceiver(
  deps: Pick<Platform, 'store' | 'blobs' | 'logger'>,
) {
  const { store, blobs } = deps;

  return {
    /**
     * Stores the file and moves its request to processing. Call
     * `announceUpload` afterwards. An upload that began before the URL expired
     * is accepted however long it takes; of parallel uploads the first complete
     * one is accepted. `inCommit` runs in the transaction of the change (for
     * the audit entry). Throws 404, 409 (with the accepted upload), 410, and
     * any error of `body`; the stored bytes are deleted then.
     */
    async receive(
      { accountId, requestId }: { accountId: string; requestId: string },
      body: AsyncIterable<Uint8Array>,
      inCommit: (tx: AccountTx) => Promise<void>,
    ): Promise<BulkUpload> {
      await store.asAccount(accountId, async (tx) => {
        if (!(await beginUpload(tx, requestId)))
          throw refusal(await readBulkRequest(tx, requestId));
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
        // PostgreSQL has answered that nothing was committed, as when its disk is
        // full: asking it again would fail, and the file would stay.
        if (isRolledBack(error)) await deleteUpload(requestId, blob);
        else await discard(accountId, requestId, blob);
        throw error;
      }
    },
  };

  /**
   * Deletes a stored file that was not accepted. If that cannot be determined,
   * the file stays.
   */
  async function discard(
    accountId: string,
    requestId: string,
    blob: BlobRef,
  ): Promise<void> {
    try {
      const request = await store.asAccount(accountId, (tx) =>
        readBulkRequest(tx, requestId),
      );
      if (request?.upload?.ref === blob.ref) return;
    } catch (err) {
      warnOfRest(err, requestId, blob);
      return;
    }
    await deleteUpload(requestId, blob);
  }

  async function deleteUpload(requestId: string, blob: BlobRef): Promise<void> {
    await blobs
      .delete(blob.ref)
      .catch((err: unknown) => warnOfRest(err, requestId, blob));
  }

  function warnOfRest(err: unknown, requestId: string, blob: BlobRef): void {
    deps.logger.warn(
      { err, bulkRequestId: requestId, blob: blob.ref },
      'could not delete an upload that was not accepted; its blob may remain',
    );
  }
}

/**
 * Runs `work` and renews the upload's lease meanwhile. A failed renewal is
 * ignored: the next one makes up for it.
 */
async function renewing<T>(
  renew: () => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setInterval(
    () => void renew().catch(() => undefined),
    UPLOAD_LEASE_MS / 3,
  );
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

/**
 * The error for a request that does not accept an upload: unknown, already
 * uploaded, failed or expired.
 */
function refusal(request: BulkRequestView | undefined): ExchangeError {
  if (request === undefined) return new NotFoundError('Bulk create');
  const { requestId, status, upload } = request;
  if (upload !== undefined) {
    return new ExchangeError(
      409,
      `The file has been uploaded already (status ${status}, sha256 ${upload.sha256}); start a new bulk create for another file`,
      {
        code: 'already-uploaded',
        members: { upload: uploadOf(requestId, status, upload) },
      },
    );
  }
  const why =
    status === 'failed'
      ? `The bulk create has failed (${request.reason ?? 'no reason recorded'})`
      : 'The upload URL has expired';
  return new ExchangeError(410, `${why}; start a new bulk create`);
}

const emptyBody = (): ExchangeError =>
  new InvalidRequestError([
    {
      path: '',
      message: 'The body is empty; send the CSV file as the raw body',
    },
  ]);
