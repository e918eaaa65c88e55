import { sql } from 'kysely';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';

/**
 * An upload counts as running for this long after its lease was last renewed.
 * The gateway that receives it renews the lease every third of this time. A
 * gateway that dies delays the expiry of the request by this much, and blocks
 * no other upload.
 */
export const UPLOAD_LEASE_MS = 30_000;
const LEASE_BEGAN = sql<Date>`now() - ${UPLOAD_LEASE_MS} * interval '1 millisecond'`;

/**
 * Records that an upload begins. Returns false unless the request waits for its
 * file and the URL has not expired. Several uploads may run at once (a client
 * that lost its connection starts again before the gateway notices); the first
 * complete one is accepted.
 */
export async function beginUpload(
  tx: AccountTx,
  requestId: string,
): Promise<boolean> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({
      upload_begun_at: sql<Date>`coalesce(upload_begun_at, now())`,
      upload_seen_at: sql<Date>`now()`,
    })
    .where(({ and }) => and({ id: requestId, status: 'waiting' }))
    .where('upload_expires_at', '>', sql<Date>`now()`)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Renews the lease of a running upload. */
export async function renewUpload(
  tx: AccountTx,
  requestId: string,
): Promise<void> {
  await tx.db
    .updateTable('bulk_request')
    .set({ upload_seen_at: sql<Date>`now()` })
    .where(({ and }) => and({ id: requestId, status: 'waiting' }))
    .execute();
}

/**
 * Waiting → processing with this file. Returns the time; undefined when the
 * request is no longer waiting.
 */
export async function finishUpload(
  tx: AccountTx,
  requestId: string,
  upload: BlobRef,
): Promise<Date | undefined> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({
      status: 'processing',
      upload: JSON.stringify(upload),
      uploaded_at: sql<Date>`now()`,
    })
    .where(({ and }) => and({ id: requestId, status: 'waiting' }))
    .returning('uploaded_at')
    .executeTakeFirst();
  return row?.uploaded_at ?? undefined;
}

/**
 * Waiting → expired, when the URL has expired and no upload is running. Returns
 * true when this call made the change.
 */
export async function expireUpload(
  tx: AccountTx,
  requestId: string,
): Promise<boolean> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({ status: 'expired', ended_at: sql<Date>`now()` })
    .where(({ and }) => and({ id: requestId, status: 'waiting' }))
    .where('upload_expires_at', '<=', sql<Date>`now()`)
    .where(({ eb, or }) =>
      or([
        eb('upload_seen_at', 'is', null),
        eb('upload_seen_at', '<', LEASE_BEGAN),
      ]),
    )
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * While an upload runs on after the URL has expired, its request is checked
 * this often.
 */
const LOOK_AT_UPLOAD_MS = 60_000;

/**
 * Milliseconds until a waiting request should be checked again; at least a
 * second.
 */
export async function uploadWaitMs(
  tx: AccountTx,
  requestId: string,
): Promise<number> {
  const row = await tx.db
    .selectFrom('bulk_request')
    .select(
      sql<number>`greatest(1000, extract(epoch from upload_expires_at - now()) * 1000,
        case when upload_seen_at >= ${LEASE_BEGAN} then ${LOOK_AT_UPLOAD_MS}::int end)::bigint`.as(
        'ms',
      ),
    )
    .where('id', '=', requestId)
    .executeTakeFirst();
  return row?.ms ?? 1_000;
}
