import { sql } from 'kysely';
import type { BlobRef } from '../../shared/blobs/blob-store.ts';
import type { AccountTx } from '../platform/database/database.ts';

/**
 * How long an upload is taken to be under way after its last sign of life. A gateway that receives one gives a sign
 * every third of it, so one that dies delays the expiry of its request by this much and blocks nobody.
 */
export const UPLOAD_LEASE_MS = 30_000;
const LEASE_BEGAN = sql<Date>`now() - ${UPLOAD_LEASE_MS} * interval '1 millisecond'`;

/**
 * An upload begins: true when the request waits for one and its time is not over. Several may be under way at once
 * (a client that was cut off begins again before anybody here has noticed); the first that is whole wins.
 */
export async function beginUpload(tx: AccountTx, requestId: string): Promise<boolean> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({
      upload_begun_at: sql<Date>`coalesce(upload_begun_at, now())`,
      upload_seen_at: sql<Date>`now()`,
    })
    .where('id', '=', requestId)
    .where('status', '=', 'waiting')
    .where('upload_expires_at', '>', sql<Date>`now()`)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** A sign of life of an upload under way. */
export async function renewUpload(tx: AccountTx, requestId: string): Promise<void> {
  await tx.db
    .updateTable('bulk_request')
    .set({ upload_seen_at: sql<Date>`now()` })
    .where('id', '=', requestId)
    .where('status', '=', 'waiting')
    .execute();
}

/** Waiting → processing with this file; undefined when the request is in another state: somebody else was first. */
export async function finishUpload(
  tx: AccountTx,
  requestId: string,
  upload: BlobRef,
): Promise<Date | undefined> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({ status: 'processing', upload: JSON.stringify(upload), uploaded_at: sql<Date>`now()` })
    .where('id', '=', requestId)
    .where('status', '=', 'waiting')
    .returning('uploaded_at')
    .executeTakeFirst();
  return row?.uploaded_at ?? undefined;
}

/** Waiting → expired, when its time is over and no upload is under way. True when it was this call that did it. */
export async function expireUpload(tx: AccountTx, requestId: string): Promise<boolean> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({ status: 'expired', ended_at: sql<Date>`now()` })
    .where('id', '=', requestId)
    .where('status', '=', 'waiting')
    .where('upload_expires_at', '<=', sql<Date>`now()`)
    .where(({ eb, or }) => or([eb('upload_seen_at', 'is', null), eb('upload_seen_at', '<', LEASE_BEGAN)]))
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** While an upload is under way after the tenth minute, its request is looked at this often. */
const LOOK_AT_UPLOAD_MS = 60_000;

/** Milliseconds that a request which waits is to be left alone before it is looked at again; at least a second. */
export async function uploadWaitMs(tx: AccountTx, requestId: string): Promise<number> {
  const row = await tx.db
    .selectFrom('bulk_request')
    .select(
      sql<number>`greatest(1000, extract(epoch from upload_expires_at - now()) * 1000,
        case when upload_seen_at >= ${LEASE_BEGAN} then ${LOOK_AT_UPLOAD_MS}::int end)::bigint`.as('ms'),
    )
    .where('id', '=', requestId)
    .executeTakeFirst();
  return row?.ms ?? 1_000;
}
