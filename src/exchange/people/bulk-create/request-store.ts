import { type Selectable, sql } from 'kysely';
import { BULK_CREATE_SORT } from '../../../contract/bulk-create.ts';
import { columnsOf, presentOf } from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import {
  type CountedPage,
  newestFirst,
  type PageRequest,
  readCountedPage,
} from '../../platform/database/page.ts';
import type { Database } from '../../platform/database/schema.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';

/** A bulk create as stored; `routes.ts` turns it into a response. */
export type BulkRequestView = ReturnType<typeof toView>;

/** Milliseconds since the clock was last started; 0 when it is stopped. */
const RUNNING_MS = sql<number>`coalesce(extract(epoch from (now() - active_since)) * 1000, 0)::bigint`;
/** Column values that stop the clock. */
const CLOCK_STOPPED = {
  active_ms: sql<number>`active_ms + ${RUNNING_MS}`,
  active_since: null,
};

const select = (tx: AccountTx) =>
  tx.db
    .selectFrom('bulk_request')
    .selectAll()
    .select(sql<number>`active_ms + ${RUNNING_MS}`.as('active_until_now_ms'));

/**
 * Inserts a request that waits for its file; the upload URL expires after
 * `uploadLifetimeMs`.
 */
export async function insertBulkRequest(
  tx: AccountTx,
  request: {
    id: string;
    facilityId: string;
    dryRun: boolean;
    uploadLifetimeMs: number;
  },
): Promise<BulkRequestView> {
  await tx.db
    .insertInto('bulk_request')
    .values({
      ...columnsOf({ id: request.id, accountId: tx.accountId }),
      ...columnsOf({ facilityId: request.facilityId, dryRun: request.dryRun }),
      status: 'waiting',
      upload_expires_at: sql<Date>`now() + ${request.uploadLifetimeMs} * interval '1 millisecond'`,
    })
    .execute();
  return expectBulkRequest(tx, request.id);
}

export async function readBulkRequest(
  tx: AccountTx,
  requestId: string,
): Promise<BulkRequestView | undefined> {
  const row = await select(tx).where('id', '=', requestId).executeTakeFirst();
  return row && toView(row);
}

/** A bulk create that exists. Throws when it does not. */
export async function expectBulkRequest(
  tx: AccountTx,
  requestId: string,
): Promise<BulkRequestView> {
  const request = await readBulkRequest(tx, requestId);
  if (request === undefined) throw new Error('The bulk create does not exist');
  return request;
}

export const BULK_REQUEST_ORDER = newestFirst(
  BULK_CREATE_SORT,
  'created_at',
  'id',
);

/** A page of the account's bulk creates, and how many there are in total. */
export async function listBulkRequests(
  tx: AccountTx,
  request: PageRequest,
): Promise<CountedPage<BulkRequestView>> {
  const page = await readCountedPage(
    tx.db,
    select(tx),
    BULK_REQUEST_ORDER,
    request,
  );
  return { ...page, items: page.items.map(toView) };
}

/**
 * Starts the clock of the time spent on rows, unless it runs or the request is
 * paused. False when the request is not processing.
 */
export async function startClock(
  tx: AccountTx,
  requestId: string,
): Promise<boolean> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({
      active_since: sql<Date>`case when paused then active_since else coalesce(active_since, now()) end`,
    })
    .where(({ and }) => and({ id: requestId, status: 'processing' }))
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Pauses or resumes a request, and stops its clock. Does nothing to a request
 * that has ended.
 */
export async function setPaused(
  tx: AccountTx,
  requestId: string,
  paused: boolean,
): Promise<void> {
  await tx.db
    .updateTable('bulk_request')
    .set({ paused, ...CLOCK_STOPPED })
    .where('id', '=', requestId)
    .where('status', 'in', ['waiting', 'processing'])
    .execute();
}

/**
 * Processing → completed, when the result has been joined. Returns the time;
 * undefined when the request is in another state.
 */
export async function setCompleted(
  tx: AccountTx,
  requestId: string,
): Promise<Date | undefined> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({
      status: 'completed',
      ended_at: sql<Date>`now()`,
      paused: false,
      ...CLOCK_STOPPED,
    })
    .where(({ and }) => and({ id: requestId, status: 'processing' }))
    .where('result', 'is not', null)
    .returning('ended_at')
    .executeTakeFirst();
  return row?.ended_at ?? undefined;
}

/**
 * Waiting or processing → failed. Returns the time; undefined when the request
 * had already ended.
 */
export async function setFailed(
  tx: AccountTx,
  requestId: string,
  reason: string,
): Promise<Date | undefined> {
  const row = await tx.db
    .updateTable('bulk_request')
    .set({
      status: 'failed',
      reason,
      ended_at: sql<Date>`now()`,
      paused: false,
      ...CLOCK_STOPPED,
    })
    .where('id', '=', requestId)
    .where('status', 'in', ['waiting', 'processing'])
    .returning('ended_at')
    .executeTakeFirst();
  return row?.ended_at ?? undefined;
}

/** Records that the upload was signalled to the workflow. */
export async function markUploadSignalled(
  tx: AccountTx,
  requestId: string,
): Promise<void> {
  await tx.db
    .updateTable('bulk_request')
    .set({ upload_announced_at: sql<Date>`now()` })
    .where('id', '=', requestId)
    .execute();
}

type Row = Selectable<Database['bulk_request']> & {
  active_until_now_ms: number;
};

/**
 * `activeMs`: time spent on rows so far, by PostgreSQL's clock, without pauses.
 */
function toView(row: Row) {
  const {
    id: requestId,
    activeUntilNowMs: activeMs,
    ...known
  } = presentOf(row);
  const { rows, handled, created, updated, failed } = known;
  return {
    ...known,
    requestId,
    activeMs,
    counts: { rows, handled, created, updated, failed },
  };
}

export interface UnfinishedRequest {
  accountId: string;
  requestId: string;
}

interface RecoveryOptions {
  olderThanMs: number;
  limit: number;
}

const UNDER_WAY_MS = 10 * 60_000;

const agoMs = (ms: number) =>
  sql<Date>`now() - ${ms} * interval '1 millisecond'`;

/** Bulk creates, as rows with a workflow. */
export const requestRows = workflowRows<{ requestId: string }>({
  table: 'bulk_request',
  ids: { requestId: 'id' },
  since: 'created_at',
  open: sql`status in ('waiting', 'processing')`,
});

/**
 * Bulk creates whose upload has not been signalled to their workflow within
 * `olderThanMs`.
 */
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
 * Whether any account's file is being checked or its rows processed. A file
 * that is not done ten minutes after its upload does not count: it may be
 * stuck.
 */
export async function isImporting(tx: SystemTx): Promise<boolean> {
  const row = await tx.db
    .selectFrom('bulk_request')
    .select('id')
    .where(({ and }) => and({ status: 'processing', paused: false }))
    .where('uploaded_at', '>', agoMs(UNDER_WAY_MS))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Uploaded files of requests that ended at least `endedBeforeDays` days ago.
 */
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
    .where(
      'ended_at',
      '<',
      sql<Date>`now() - ${endedBeforeDays} * interval '1 day'`,
    )
    .orderBy('ended_at')
    .limit(limit)
    .execute();
  return rows.flatMap(({ upload, ...request }) =>
    upload === null ? [] : [{ ...request, ref: upload.ref }],
  );
}

export async function markUploadDeleted(
  tx: AccountTx,
  requestId: string,
): Promise<void> {
  await tx.db
    .updateTable('bulk_request')
    .set({ upload_deleted_at: sql<Date>`now()` })
    .where('id', '=', requestId)
    .execute();
}
