import { sql } from 'kysely';
import type { BulkCounts } from '../../../contract/bulk-create.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type { CsvChunk, CsvLayout } from '../../../shared/bulk-csv/layout.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { columnsOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';

/**
 * Stores the result of the format check: layout, number of rows and chunks.
 * Returns false when one is already stored, or the request is not processing.
 */
export async function setLayout(
  tx: AccountTx,
  requestId: string,
  checked: { layout: CsvLayout; rows: number; chunks: readonly CsvChunk[] },
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('bulk_request')
    .set({ layout: JSON.stringify(checked.layout), rows: checked.rows })
    .where(({ and }) => and({ id: requestId, status: 'processing' }))
    .where('layout', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (checked.chunks.length === 0) return true;
  await tx.db
    .insertInto('bulk_chunk')
    .values(
      checked.chunks.map(({ byteStart, byteEnd, firstRow, rows }, chunk) =>
        columnsOf({
          requestId,
          accountId: tx.accountId,
          chunk,
          byteStart,
          byteEnd,
          firstRow,
          rows,
        }),
      ),
    )
    .execute();
  return true;
}

export interface OpenChunk extends CsvChunk {
  chunk: number;
}

/** The chunks that are not committed, in file order. */
export async function listOpenChunks(
  tx: AccountTx,
  requestId: string,
): Promise<OpenChunk[]> {
  return tx.db
    .selectFrom('bulk_chunk')
    .select([
      'chunk',
      'byte_start as byteStart',
      'byte_end as byteEnd',
      'first_row as firstRow',
      'rows',
    ])
    .where('request_id', '=', requestId)
    .where('completed_at', 'is', null)
    .orderBy('chunk')
    .execute();
}

/**
 * Locks the chunk until the transaction ends; another execution of the step
 * waits here and then finds it done. `stop` is set when its rows must not be
 * processed: the chunk is done, the request has ended, or it is paused.
 */
export async function lockChunk(
  tx: AccountTx,
  requestId: string,
  chunk: number,
): Promise<{ stop?: 'done' | 'ended' | 'paused' }> {
  const row = await tx.db
    .selectFrom('bulk_chunk')
    .innerJoin('bulk_request', 'bulk_request.id', 'bulk_chunk.request_id')
    .select(['completed_at', 'status', 'paused'])
    .where(({ and }) => and({ request_id: requestId, chunk }))
    .forUpdate('bulk_chunk')
    .executeTakeFirstOrThrow();
  if (row.completed_at !== null) return { stop: 'done' };
  if (row.status !== 'processing') return { stop: 'ended' };
  return row.paused ? { stop: 'paused' } : {};
}

export type ChunkCounts = Pick<BulkCounts, 'created' | 'updated' | 'failed'>;

/**
 * Writes the chunk's checkpoint in the transaction of its rows: the part of the
 * result, the request's counts, the audit entry. Returns the request's counts;
 * undefined when the chunk is already done or the request is no longer
 * processing, and then the caller must roll back.
 */
export async function completeChunk(
  tx: AccountTx,
  requestId: string,
  { chunk, rows }: Pick<OpenChunk, 'chunk' | 'rows'>,
  counts: ChunkCounts,
  part: BlobRef,
): Promise<BulkCounts | undefined> {
  const { numUpdatedRows } = await tx.db
    .updateTable('bulk_chunk')
    .set({
      ...counts,
      result: JSON.stringify(part),
      completed_at: sql<Date>`now()`,
    })
    .where(({ and }) => and({ request_id: requestId, chunk }))
    .where('completed_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return undefined;
  await insertAuditEntry(tx, {
    actor: 'internal',
    operation: 'bulkPatientCreate',
    targetId: requestId,
    outcome: `chunk ${chunk}: ${counts.created} created, ${counts.updated} updated, ${counts.failed} failed`,
  });
  return tx.db
    .updateTable('bulk_request')
    .set({
      handled: sql<number>`handled + ${rows}`,
      created: sql<number>`created + ${counts.created}`,
      updated: sql<number>`updated + ${counts.updated}`,
      failed: sql<number>`failed + ${counts.failed}`,
    })
    .where(({ and }) => and({ id: requestId, status: 'processing' }))
    .returning(['rows', 'handled', 'created', 'updated', 'failed'])
    .executeTakeFirst();
}

export interface ChunkPart {
  chunk: number;
  /**
   * Null when the chunk is not committed, or its part was deleted after the
   * result was joined.
   */
  part: BlobRef | null;
}

/** The chunks of a request with their parts of the result, in file order. */
export async function listParts(
  tx: AccountTx,
  requestId: string,
): Promise<ChunkPart[]> {
  return tx.db
    .selectFrom('bulk_chunk')
    .select(['chunk', 'result as part'])
    .where('request_id', '=', requestId)
    .orderBy('chunk')
    .execute();
}

/**
 * Sets the joined result. Returns false when a result is already set, or the
 * request is not processing.
 */
export async function setResult(
  tx: AccountTx,
  requestId: string,
  result: BlobRef,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('bulk_request')
    .set({ result: JSON.stringify(result) })
    .where(({ and }) => and({ id: requestId, status: 'processing' }))
    .where('result', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Clears the references to the parts of the result, whose blobs have been
 * deleted.
 */
export async function clearParts(
  tx: AccountTx,
  requestId: string,
): Promise<void> {
  await tx.db
    .updateTable('bulk_chunk')
    .set({ result: null })
    .where('request_id', '=', requestId)
    .where('result', 'is not', null)
    .execute();
}
