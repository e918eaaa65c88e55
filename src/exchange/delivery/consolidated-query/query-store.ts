import { type Selectable, sql } from 'kysely';
import type {
  ConsolidatedStatus,
  ConversionType,
} from '../../../contract/consolidated-query.ts';
import type { Metadata } from '../../../contract/network-query.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import { isNotOnLegalHold } from '../../people/patients/legal-hold-store.ts';
import { columnsOf, presentOf } from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';

/** What a consolidated query must return. */
export interface ConsolidatedParameters {
  conversionType: ConversionType;
  /** Resource types, sorted; undefined means all. */
  resources?: string[];
  /** YYYY-MM-DD, inclusive. */
  dateFrom?: string;
  /** YYYY-MM-DD, inclusive. */
  dateTo?: string;
}

export type StoredConsolidatedQuery = Omit<
  ReturnType<typeof presentOf<Selectable<Database['consolidated_query']>>>,
  'id'
> & { requestId: string };

/**
 * Creates a query, or returns the one with the same parameters that is already
 * in progress.
 */
export async function openConsolidatedQuery(
  tx: AccountTx,
  id: string,
  patientId: string,
  { metadata, ...parameters }: ConsolidatedParameters & { metadata?: Metadata },
): Promise<{ query: StoredConsolidatedQuery; isNew: boolean }> {
  const { conversionType, resources, dateFrom, dateTo } = parameters;
  const canonical = JSON.stringify([
    conversionType,
    resources ?? null,
    dateFrom ?? null,
    dateTo ?? null,
  ]);
  for (;;) {
    const opened = await tx.db
      .insertInto('consolidated_query')
      .values({
        ...columnsOf({
          id,
          accountId: tx.accountId,
          patientId,
          conversionType,
          resources,
          dateFrom,
          dateTo,
        }),
        parameters: canonical,
        metadata: metadata === undefined ? null : JSON.stringify(metadata),
      })
      .onConflict((conflict) =>
        conflict
          .columns(['patient_id', 'parameters'])
          .where('status', '=', 'processing')
          .doNothing(),
      )
      .returningAll()
      .executeTakeFirst();
    if (opened !== undefined) return { query: toQuery(opened), isNew: true };
    const running = await tx.db
      .selectFrom('consolidated_query')
      .selectAll()
      .where(({ and }) =>
        and({
          patient_id: patientId,
          parameters: canonical,
          status: 'processing',
        }),
      )
      .executeTakeFirst();
    // Undefined when that query has just ended: the next insert then succeeds.
    if (running !== undefined) return { query: toQuery(running), isNew: false };
  }
}

export async function readConsolidatedQuery(
  tx: AccountTx,
  requestId: string,
): Promise<StoredConsolidatedQuery | undefined> {
  const row = await tx.db
    .selectFrom('consolidated_query')
    .selectAll()
    .where('id', '=', requestId)
    .executeTakeFirst();
  return row && toQuery(row);
}

/**
 * A patient's queries in progress, newest first; at most one for each set of
 * parameters.
 */
export async function listRunningQueries(
  tx: AccountTx,
  patientId: string,
  limit: number,
): Promise<StoredConsolidatedQuery[]> {
  const rows = await tx.db
    .selectFrom('consolidated_query')
    .selectAll()
    .where(({ and }) => and({ patient_id: patientId, status: 'processing' }))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return rows.map(toQuery);
}

/** The status of the patient's newest query; undefined without any. */
export async function latestStatus(
  tx: AccountTx,
  patientId: string,
): Promise<ConsolidatedStatus | undefined> {
  const row = await tx.db
    .selectFrom('consolidated_query')
    .select('status')
    .where('patient_id', '=', patientId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.status;
}

/**
 * Ends a query in progress. Returns undefined when it has already ended or was
 * deleted with its patient.
 */
export async function endConsolidatedQuery(
  tx: AccountTx,
  requestId: string,
  end: { result: BlobRef } | { reason: string },
): Promise<StoredConsolidatedQuery | undefined> {
  const row = await tx.db
    .updateTable('consolidated_query')
    .set({ ended_at: sql<Date>`now()` })
    .set(
      'result' in end
        ? { status: 'completed', result: JSON.stringify(end.result) }
        : { status: 'failed', reason: end.reason },
    )
    .where(({ and }) => and({ id: requestId, status: 'processing' }))
    .returningAll()
    .executeTakeFirst();
  return row && toQuery(row);
}

/** Consolidated queries, as rows with a workflow. */
export const consolidatedRows = workflowRows<{ requestId: string }>({
  table: 'consolidated_query',
  ids: { requestId: 'id' },
  since: 'created_at',
  open: sql`status = 'processing'`,
});

/**
 * Results of queries that ended more than `endedBeforeDays` days ago; those of
 * patients under legal hold are kept.
 */
export async function resultsToDelete(
  tx: SystemTx,
  { endedBeforeDays, limit }: { endedBeforeDays: number; limit: number },
): Promise<
  { accountId: string; requestId: string; ref: string; since: Date }[]
> {
  const rows = await tx.db
    .selectFrom('consolidated_query')
    .select(['account_id as accountId', 'id as requestId', 'result'])
    .select(({ ref }) => ref('ended_at').$notNull().as('since'))
    .where('result', 'is not', null)
    .where('result_deleted_at', 'is', null)
    .where(
      'ended_at',
      '<',
      sql<Date>`now() - ${endedBeforeDays} * interval '1 day'`,
    )
    .where(isNotOnLegalHold('consolidated_query'))
    .orderBy('ended_at')
    .limit(limit)
    .execute();
  return rows.flatMap(({ result, ...owned }) =>
    result === null ? [] : [{ ...owned, ref: result.ref }],
  );
}

export async function markResultDeleted(
  tx: AccountTx,
  requestId: string,
): Promise<void> {
  await tx.db
    .updateTable('consolidated_query')
    .set({ result_deleted_at: sql<Date>`now()` })
    .where('id', '=', requestId)
    .execute();
}

function toQuery(
  row: Selectable<Database['consolidated_query']>,
): StoredConsolidatedQuery {
  const { id: requestId, result, ...known } = presentOf(row);
  // A deleted result is not returned.
  return {
    ...known,
    requestId,
    result: known.resultDeletedAt === undefined ? result : undefined,
  };
}
