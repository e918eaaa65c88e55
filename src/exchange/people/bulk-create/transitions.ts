import {
  BULK_CREATE_EVENT_TYPE,
  type BulkCreateEvent,
} from '../../../contract/bulk-create.ts';
import type { BulkFinish } from '../../../contract/bulk-create-workflow.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import {
  type BulkRequestView,
  setCompleted,
  setFailed,
} from './request-store.ts';
import { finishUpload } from './upload-store.ts';

/*
 * The state changes of a bulk create that a webhook announces. State and event
 * are one transaction. Each resolves to false, and changes nothing, when the
 * request is in another state. Expiry has no webhook (`expireUpload`).
 */

/** Waiting → processing with the uploaded file. */
export async function beginProcessing(
  tx: AccountTx,
  requestId: string,
  upload: BlobRef,
) {
  return announce(
    tx,
    requestId,
    'processing',
    await finishUpload(tx, requestId, upload),
  );
}

/** Processing → completed; the result must have been joined. */
export async function completeBulkCreate(tx: AccountTx, requestId: string) {
  return announce(
    tx,
    requestId,
    'completed',
    await setCompleted(tx, requestId),
  );
}

/**
 * The outcome after the last step. After a dry run, or without any created or
 * updated patient, no queries follow.
 */
export function bulkFinish(request: BulkRequestView | undefined): BulkFinish {
  if (request?.status !== 'completed') return { kind: 'ended' };
  const { counts, dryRun } = request;
  return {
    kind: 'completed',
    counts,
    sweep: !dryRun && counts.created + counts.updated > 0,
  };
}

/**
 * Waiting or processing → failed. @param reason shown to the caller: no
 * personal data, no internals
 */
export async function failBulkCreate(
  tx: AccountTx,
  requestId: string,
  reason: string,
) {
  return announce(
    tx,
    requestId,
    'failed',
    await setFailed(tx, requestId, reason),
    reason,
  );
}

async function announce(
  tx: AccountTx,
  requestId: string,
  status: BulkCreateEvent['bulkPatientCreate']['status'],
  at: Date | undefined,
  reason?: string,
): Promise<boolean> {
  if (at === undefined) return false;
  const type = BULK_CREATE_EVENT_TYPE;
  await insertEvent(tx, {
    type,
    factKey: `${type}/${requestId}/${status}`,
    requestId,
    occurredAt: at,
    body: {
      meta: { requestId, when: at.toISOString(), type },
      bulkPatientCreate: {
        requestId,
        status,
        ...(reason === undefined ? {} : { reason }),
      },
    },
  });
  return true;
}
