import { ApplicationFailure } from '@temporalio/activity';
import {
  BULK_FAILURE_TYPES,
  type BulkEnd,
  type BulkFinish,
  type BulkStepInput,
  type RowsHandled,
  type UploadCheck,
  type UploadState,
} from '../../contract/bulk-create-workflow.ts';
import type { BulkEngine } from '../../exchange/people/bulk-create/engine.ts';
import {
  type BulkRequestView,
  readBulkRequest,
  setPaused,
  startClock,
} from '../../exchange/people/bulk-create/request-store.ts';
import { bulkPace } from '../../exchange/people/bulk-create/rules/bulk-pace.ts';
import {
  bulkFinish,
  completeBulkCreate,
  failBulkCreate,
} from '../../exchange/people/bulk-create/transitions.ts';
import {
  expireUpload,
  uploadWaitMs,
} from '../../exchange/people/bulk-create/upload-store.ts';
import type {
  AccountTx,
  Store,
} from '../../exchange/platform/database/database.ts';
import type { StartGuard } from '../../exchange/platform/recovery/start-guard.ts';
import { DecryptionError } from '../../lib/key-ring.ts';
import { BlobNotFoundError } from '../../shared/blobs/blob-store.ts';
import { type HeartbeatOptions, withHeartbeat } from './heartbeat.ts';

export type BulkActivities = ReturnType<typeof createBulkActivities>;

const HEARTBEAT: HeartbeatOptions = { toFailure: describeFailure };

/**
 * The steps of a bulk create. The request's row is the source of truth: each
 * step reads it first, may run twice, and writes a change of state together
 * with its webhook event.
 */
export function createBulkActivities(deps: {
  store: Store;
  engine: BulkEngine;
  startGuard: StartGuard;
}) {
  const { store, engine } = deps;

  const change = (
    { accountId }: BulkStepInput,
    work: (tx: AccountTx) => Promise<boolean>,
  ): Promise<boolean> => store.asAccount(accountId, work);

  const guarded = <T>(
    of: BulkStepInput,
    progress: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ) =>
    deps.startGuard.run(
      { accountId: of.accountId, name: `bulk/${of.requestId}`, progress },
      signal,
      work,
    );

  const read = ({
    accountId,
    requestId,
  }: BulkStepInput): Promise<BulkRequestView | undefined> =>
    store.asAccount(accountId, (tx) => readBulkRequest(tx, requestId));

  return {
    /**
     * Checks whether the file was uploaded. Ends the request as expired when
     * its time is over and no upload is in progress.
     */
    async lookForUpload({
      accountId,
      requestId,
    }: BulkStepInput): Promise<UploadState> {
      return store.asAccount(accountId, async (tx) => {
        if (await expireUpload(tx, requestId)) return { state: 'expired' };
        const request = await readBulkRequest(tx, requestId);
        switch (request?.status) {
          case 'processing':
            return { state: 'uploaded' };
          case 'waiting':
            return {
              state: 'waiting',
              waitMs: await uploadWaitMs(tx, requestId),
            };
          case 'expired':
            return { state: 'expired' };
          default:
            return { state: 'ended' };
        }
      });
    },

    /**
     * Reads the whole file once. If its format is wrong, ends the request as
     * failed.
     */
    async checkUpload(step: BulkStepInput): Promise<UploadCheck> {
      return withHeartbeat(HEARTBEAT, async (signal, heartbeat) => {
        if ((await read(step))?.status !== 'processing')
          return { kind: 'ended' };
        const checked = await guarded(step, 'check', signal, () =>
          engine.check(step.accountId, step.requestId, { signal, heartbeat }),
        );
        if (checked.kind === 'ok') return checked;
        const refused = await change(step, (tx) =>
          failBulkCreate(tx, step.requestId, checked.reason),
        );
        return refused ? checked : { kind: 'ended' };
      });
    },

    /**
     * Processes rows for about `stretchMs`, starting with the first uncommitted
     * one; stops early on pause or cancel.
     */
    async handleRows(
      step: BulkStepInput & { stretchMs: number },
    ): Promise<RowsHandled> {
      return withHeartbeat(HEARTBEAT, async (signal, heartbeat) => {
        const untilMs = Date.now() + step.stretchMs;
        const { accountId, requestId } = step;
        await store.asAccount(accountId, (tx) => startClock(tx, requestId));
        const handled = (await read(step))?.counts.handled ?? 0;
        const { done, counts, stopped } = await guarded(
          step,
          `rows/${handled}`,
          signal,
          () =>
            engine.processChunks(accountId, requestId, {
              signal,
              untilMs,
              onChunk: heartbeat,
            }),
        );
        const request = await read(step);
        return { done, counts, stopped, ...(request && bulkPace(request)) };
      });
    },

    /** Joins the parts of the result CSV and ends the request as completed. */
    async finishBulkCreate(step: BulkStepInput): Promise<BulkFinish> {
      return withHeartbeat(HEARTBEAT, async (signal, heartbeat) => {
        const before = await read(step);
        // An earlier execution of this step completed the request, but its
        // result was lost.
        if (before?.status === 'completed') return bulkFinish(before);
        if (before?.status !== 'processing') return { kind: 'ended' };
        await guarded(step, 'join', signal, () =>
          engine.join(step.accountId, step.requestId, { signal, heartbeat }),
        );
        await change(step, (tx) => completeBulkCreate(tx, step.requestId));
        return bulkFinish(await read(step));
      });
    },

    /** Pauses processing after the current chunk, or resumes it. */
    async setBulkPaused({
      accountId,
      requestId,
      paused,
    }: BulkStepInput & { paused: boolean }): Promise<void> {
      await store.asAccount(accountId, (tx) =>
        setPaused(tx, requestId, paused),
      );
    },

    /**
     * Ends the request as failed, whatever its current step. A request that has
     * already ended is not changed.
     */
    async endBulkCreate(
      step: BulkStepInput & { reason: string },
    ): Promise<BulkEnd> {
      await change(step, (tx) =>
        failBulkCreate(tx, step.requestId, step.reason),
      );
      const request = await read(step);
      return { status: request?.status ?? 'failed', reason: request?.reason };
    },
  };
}

/**
 * A damaged or missing file fails without retries, because no retry can repair
 * it.
 */
function describeFailure(error: unknown): unknown {
  if (!(error instanceof DecryptionError || error instanceof BlobNotFoundError))
    return error;
  return ApplicationFailure.create({
    message:
      'The uploaded file can no longer be read; start a new bulk create and upload it again',
    type: BULK_FAILURE_TYPES.unreadableUpload,
    nonRetryable: true,
    cause: error,
  });
}
