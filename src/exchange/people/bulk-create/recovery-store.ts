import { sql } from 'kysely';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';

export interface UnfinishedRequest {
  accountId: string;
  requestId: string;
}

interface RecoveryOptions {
  olderThanMs: number;
  limit: number;
}

const UNDER_WAY_MS = 10 * 60_000;

const agoMs = (ms: number) => sql<Date>`now() - ${ms} * interval '1 millisecond'`;

/** Bulk creates, as rows with a workflow. */
export const requestRows = workflowRows<{ requestId: string }>({
  table: 'bulk_request',
  ids: { requestId: 'id' },
  since: 'created_at',
  open: sql`status in ('waiting', 'processing')`,
});

/** Bulk creates whose upload has not been signalled to their workflow within `olderThanMs`. */
export async function uploadsToSignal(
  tx: SystemTx,
  { olderThanMs, limit }: RecoveryOptions,
): Promise<(UnfinishedRequest & { since: Date })[]> {
  return tx.db
    .selectFrom('bulk_request')
    .select(['account_id as accountId', 'id as requestId'])
    .select(({ ref }) => ref('uploaded_at').$notNull().as('since'))
    .where('status', '=', 'processing')
    .where('upload_announced_at', 'is', null)
    .where('uploaded_at', '<', agoMs(olderThanMs))
    .orderBy('uploaded_at')
    .limit(limit)
    .execute();
}

/**
 * Whether any account's file is being checked or its rows processed. A file that is not done ten minutes after its upload does
 * not count: it may be stuck.
 */
export async function isImporting(tx: SystemTx): Promise<boolean> {
  const row = await tx.db
    .selectFrom('bulk_request')
    .select('id')
    .where('status', '=', 'processing')
    .where('paused', '=', false)
    .where('uploaded_at', '>', agoMs(UNDER_WAY_MS))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Uploaded files of requests that ended at least `endedBeforeDays` days ago. */
export async function uploadsToDelete(
  tx: SystemTx,
  { endedBeforeDays, limit }: { endedBeforeDays: number; limit: number },
): Promise<(UnfinishedRequest & { ref: string; since: Date })[]> {
  const rows = await tx.db
    .selectFrom('bulk_request')
    .select(['account_id as accountId', 'id as requestId', 'upload'])
    .select(({ ref }) => ref('ended_at').$notNull().as('since'))
    .where('upload', 'is not', null)
    .where('upload_deleted_at', 'is', null)
    .where('ended_at', '<', sql<Date>`now() - ${endedBeforeDays} * interval '1 day'`)
    .orderBy('ended_at')
    .limit(limit)
    .execute();
  return rows.flatMap(({ upload, ...request }) => (upload === null ? [] : [{ ...request, ref: upload.ref }]));
}

export async function markUploadDeleted(tx: AccountTx, requestId: string): Promise<void> {
  await tx.db
    .updateTable('bulk_request')
    .set({ upload_deleted_at: sql<Date>`now()` })
    .where('id', '=', requestId)
    .execute();
}
