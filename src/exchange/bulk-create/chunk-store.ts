import { sql } from 'kysely';
import type { BulkCounts } from '../../contract/bulk-create-workflow.ts';
import type { BlobRef } from '../../shared/blobs/blob-store.ts';
import type { CsvChunk, CsvLayout } from '../../shared/bulk-csv/layout.ts';
import { insertAuditEntry } from '../platform/audit/audit-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import type { BulkRequestState } from './tables.ts';

/** What the engine goes by. */
export interface BulkWork {
  facilityId: string;
  dryRun: boolean;
  status: BulkRequestState;
  upload?: BlobRef;
  /** Set by the format check. */
  layout?: CsvLayout;
  counts: BulkCounts;
  result?: BlobRef;
}

/** Throws when there is no such request. */
export async function readBulkWork(tx: AccountTx, requestId: string): Promise<BulkWork> {
  const row = await tx.db
    .selectFrom('bulk_request')
    .selectAll()
    .where('id', '=', requestId)
    .executeTakeFirstOrThrow();
  const { rows, handled, created, updated, failed } = row;
  return {
    facilityId: row.facility_id,
    dryRun: row.dry_run,
    status: row.status,
    upload: row.upload ?? undefined,
    layout: (row.layout ?? undefined) as CsvLayout | undefined,
    counts: { rows, handled, created, updated, failed },
    result: row.result ?? undefined,
  };
}

/** Keeps what the format check found. False when it was kept before, or the request is not processing. */
export async function setLayout(
  tx: AccountTx,
  requestId: string,
  found: { layout: CsvLayout; rows: number; chunks: readonly CsvChunk[] },
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('bulk_request')
    .set({ layout: JSON.stringify(found.layout), rows: found.rows })
    .where('id', '=', requestId)
    .where('status', '=', 'processing')
    .where('layout', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (found.chunks.length === 0) return true;
  await tx.db
    .insertInto('bulk_chunk')
    .values(
      found.chunks.map(({ byteStart, byteEnd, firstRow, rows }, chunk) => ({
        request_id: requestId,
        account_id: tx.accountId,
        chunk,
        byte_start: byteStart,
        byte_end: byteEnd,
        first_row: firstRow,
        rows,
      })),
    )
    .execute();
  return true;
}

export interface OpenChunk extends CsvChunk {
  chunk: number;
}

/** The chunks that are not committed, in the order of the file. */
export async function listOpenChunks(tx: AccountTx, requestId: string): Promise<OpenChunk[]> {
  const rows = await tx.db
    .selectFrom('bulk_chunk')
    .select(['chunk', 'byte_start', 'byte_end', 'first_row', 'rows'])
    .where('request_id', '=', requestId)
    .where('completed_at', 'is', null)
    .orderBy('chunk')
    .execute();
  return rows.map((row) => ({
    chunk: row.chunk,
    byteStart: row.byte_start,
    byteEnd: row.byte_end,
    firstRow: row.first_row,
    rows: row.rows,
  }));
}

/**
 * Takes the chunk for this transaction: a twin waits here, and then sees that it is done. `stop` tells why its rows are
 * not to be handled.
 */
export async function holdChunk(
  tx: AccountTx,
  requestId: string,
  chunk: number,
): Promise<{ stop?: 'done' | 'ended' | 'paused' }> {
  const row = await tx.db
    .selectFrom('bulk_chunk')
    .innerJoin('bulk_request', 'bulk_request.id', 'bulk_chunk.request_id')
    .select(['completed_at', 'status', 'paused'])
    .where('request_id', '=', requestId)
    .where('chunk', '=', chunk)
    .forUpdate('bulk_chunk')
    .executeTakeFirstOrThrow();
  if (row.completed_at !== null) return { stop: 'done' };
  if (row.status !== 'processing') return { stop: 'ended' };
  return row.paused ? { stop: 'paused' } : {};
}

export type ChunkCounts = Pick<BulkCounts, 'created' | 'updated' | 'failed'>;

/**
 * The chunk's checkpoint, in the transaction of its rows: its part of the result, the request's counts, the audit. Undefined
 * when a twin was faster, or the request is no longer processing: then nothing of this transaction may stay.
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
    .set({ ...counts, result: JSON.stringify(part), completed_at: sql<Date>`now()` })
    .where('request_id', '=', requestId)
    .where('chunk', '=', chunk)
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
    .where('id', '=', requestId)
    .where('status', '=', 'processing')
    .returning(['rows', 'handled', 'created', 'updated', 'failed'])
    .executeTakeFirst();
}

export interface ChunkPart {
  chunk: number;
  /** Null: not committed, or deleted since the result was joined. */
  part: BlobRef | null;
}

export async function listParts(tx: AccountTx, requestId: string): Promise<ChunkPart[]> {
  return tx.db
    .selectFrom('bulk_chunk')
    .select(['chunk', 'result as part'])
    .where('request_id', '=', requestId)
    .orderBy('chunk')
    .execute();
}

/** Of two that join only the first one's result counts. False for the other, and for a request not processing. */
export async function setResult(tx: AccountTx, requestId: string, result: BlobRef): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('bulk_request')
    .set({ result: JSON.stringify(result) })
    .where('id', '=', requestId)
    .where('status', '=', 'processing')
    .where('result', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** The parts' blobs are gone. */
export async function forgetParts(tx: AccountTx, requestId: string): Promise<void> {
  await tx.db
    .updateTable('bulk_chunk')
    .set({ result: null })
    .where('request_id', '=', requestId)
    .where('result', 'is not', null)
    .execute();
}
