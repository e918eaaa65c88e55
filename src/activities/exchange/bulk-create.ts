import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import {
  BULK_FAILURE_TYPES,
  type BulkEnd,
  type BulkFinish,
  type BulkStepInput,
  type RowsHandled,
  type UploadCheck,
  type UploadLook,
} from '../../contract/bulk-create-steps.ts';
import type { BulkEngine } from '../../exchange/bulk-create/engine.ts';
import {
  type BulkRequestView,
  readBulkRequest,
  setPaused,
  startClock,
} from '../../exchange/bulk-create/request-store.ts';
import { bulkPace } from '../../exchange/bulk-create/rules/bulk-pace.ts';
import { bulkFinish, completeBulkCreate, failBulkCreate } from '../../exchange/bulk-create/transitions.ts';
import { expireUpload, uploadWaitMs } from '../../exchange/bulk-create/upload-store.ts';
import type { AccountTx, Store } from '../../exchange/platform/database/database.ts';
import { ProcessEndedTooOften, type StartGuard } from '../../exchange/platform/recovery/start-guard.ts';
import { DecryptionError } from '../../lib/key-ring.ts';
import { BlobNotFoundError } from '../../shared/blobs/blob-store.ts';

export type BulkActivities = ReturnType<typeof createBulkActivities>;

const HEARTBEAT_EVERY_MS = 1_000;

/**
 * The steps of a bulk create. What is true stands in the request's row: each step goes by it, may run twice, and writes
 * a change of state together with its webhook.
 */
export function createBulkActivities(deps: { store: Store; engine: BulkEngine; startGuard: StartGuard }) {
  const { store, engine } = deps;

  const change = (
    { accountId }: BulkStepInput,
    work: (tx: AccountTx) => Promise<boolean>,
  ): Promise<boolean> => store.asAccount(accountId, work);

  const guarded = <T>(of: BulkStepInput, progress: string, signal: AbortSignal, work: () => Promise<T>) =>
    deps.startGuard.run({ accountId: of.accountId, name: `bulk/${of.requestId}`, progress }, signal, work);

  const read = ({ accountId, requestId }: BulkStepInput): Promise<BulkRequestView | undefined> =>
    store.asAccount(accountId, (tx) => readBulkRequest(tx, requestId));

  return {
    /** Has the file come? Ends the request as expired when its time is over and no upload is under way. */
    async lookForUpload({ accountId, requestId }: BulkStepInput): Promise<UploadLook> {
      return store.asAccount(accountId, async (tx) => {
        if (await expireUpload(tx, requestId)) return { state: 'expired' };
        const request = await readBulkRequest(tx, requestId);
        switch (request?.status) {
          case 'processing':
            return { state: 'uploaded' };
          case 'waiting':
            return { state: 'waiting', waitMs: await uploadWaitMs(tx, requestId) };
          case 'expired':
            return { state: 'expired' };
          default:
            return { state: 'ended' };
        }
      });
    },

    /** Reads the whole file once; one that is not in the expected format ends the request. */
    async checkUpload(step: BulkStepInput): Promise<UploadCheck> {
      return alive(async (signal, heartbeat) => {
        if ((await read(step))?.status !== 'processing') return { kind: 'ended' };
        const checked = await guarded(step, 'check', signal, () =>
          engine.check(step.accountId, step.requestId, { signal, heartbeat }),
        );
        if (checked.kind === 'ok') return checked;
        const refused = await change(step, (tx) => failBulkCreate(tx, step.requestId, checked.reason));
        return refused ? checked : { kind: 'ended' };
      });
    },

    /** Handles rows for about `stretchMs`, from the first that is not committed; fewer when told to stop. */
    async handleRows(step: BulkStepInput & { stretchMs: number }): Promise<RowsHandled> {
      return alive(async (signal, heartbeat) => {
        const untilMs = Date.now() + step.stretchMs;
        const { accountId, requestId } = step;
        await store.asAccount(accountId, (tx) => startClock(tx, requestId));
        const handled = (await read(step))?.counts.handled ?? 0;
        const { done, counts, stopped } = await guarded(step, `rows/${handled}`, signal, () =>
          engine.processChunks(accountId, requestId, { signal, untilMs, onChunk: heartbeat }),
        );
        const request = await read(step);
        return { done, counts, stopped, ...(request && bulkPace(request)) };
      });
    },

    /** Joins the result CSV and ends the request as completed. */
    async finishBulkCreate(step: BulkStepInput): Promise<BulkFinish> {
      return alive(async (signal, heartbeat) => {
        const before = await read(step);
        // A run of this step before has done it, and its answer was lost.
        if (before?.status === 'completed') return bulkFinish(before);
        if (before?.status !== 'processing') return { kind: 'ended' };
        await guarded(step, 'join', signal, () =>
          engine.join(step.accountId, step.requestId, { signal, heartbeat }),
        );
        await change(step, (tx) => completeBulkCreate(tx, step.requestId));
        return bulkFinish(await read(step));
      });
    },

    /** Rows stop after the chunk in hand, or go on. */
    async setBulkPaused({
      accountId,
      requestId,
      paused,
    }: BulkStepInput & { paused: boolean }): Promise<void> {
      await store.asAccount(accountId, (tx) => setPaused(tx, requestId, paused));
    },

    /** Ends the request as failed, whatever it was doing; one that has ended stays as it is. */
    async endBulkCreate(step: BulkStepInput & { reason: string }): Promise<BulkEnd> {
      await change(step, (tx) => failBulkCreate(tx, step.requestId, step.reason));
      const request = await read(step);
      return { status: request?.status ?? 'failed', reason: request?.reason };
    },
  };
}

/** Heartbeats while `work` runs and gives its failures their type. */
async function alive<T>(work: (signal: AbortSignal, heartbeat: () => void) => Promise<T>): Promise<T> {
  const context = Context.current();
  const heartbeat = () => context.heartbeat();
  const timer = setInterval(heartbeat, HEARTBEAT_EVERY_MS);
  try {
    return await work(context.cancellationSignal, heartbeat);
  } catch (error) {
    if (context.cancellationSignal.aborted) throw new CancelledFailure('Stopped on request');
    if (error instanceof ProcessEndedTooOften)
      throw ApplicationFailure.nonRetryable(error.message, error.name);
    // No repetition makes a damaged file whole.
    if (error instanceof DecryptionError || error instanceof BlobNotFoundError)
      throw ApplicationFailure.create({
        message: 'The uploaded file cannot be read any more; send it again',
        type: BULK_FAILURE_TYPES.unreadableUpload,
        nonRetryable: true,
        cause: error,
      });
    throw error;
  } finally {
    clearInterval(timer);
  }
}
