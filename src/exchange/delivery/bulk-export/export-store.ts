import { type Selectable, sql } from 'kysely';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import { insertAuditEntriesIn } from '../../platform/audit/audit-store.ts';
import { columnsOf } from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';
import type { ConsolidatedPlace } from '../../records/reading/read-consolidated.ts';
import type { ExportRequest, FileKind } from './rules/export-request.ts';
import type { ExportPart } from './rules/files.ts';

export type StoredExport = Selectable<Database['bulk_export']>;

/**
 * How far the transaction time lies before the kick-off. Everything that was committed until then is in the files: a
 * transaction lasts no longer than this, so that what it commits later has a later time, and is in the next export.
 */
const SETTLED_AFTER = sql`interval '2 minutes'`;

export async function insertExport(
  tx: AccountTx,
  row: { id: string; cohortId?: string; actor: string; request: string } & Omit<ExportRequest, 'ignored'>,
): Promise<void> {
  await tx.db
    .insertInto('bulk_export')
    .values({
      id: row.id,
      account_id: tx.accountId,
      cohort_id: row.cohortId ?? null,
      actor: row.actor,
      request: row.request,
      types: row.types ?? null,
      type_filters: JSON.stringify(row.typeFilters),
      since: row.since === undefined ? null : new Date(row.since),
      transaction_time: sql<Date>`now() - ${SETTLED_AFTER}`,
    })
    .execute();
}

export const findExport = (tx: AccountTx, id: string): Promise<StoredExport | undefined> =>
  tx.db.selectFrom('bulk_export').selectAll().where('id', '=', id).executeTakeFirst();

export async function countRunningExports(tx: AccountTx): Promise<number> {
  const { running } = await tx.db
    .selectFrom('bulk_export')
    .select(({ fn }) => fn.countAll<number>().as('running'))
    .where('status', '=', 'running')
    .executeTakeFirstOrThrow();
  return running;
}

/** Lists the patients of an export, once. A patient who is new since its `since` comes whole. */
export async function listExportPatients(tx: AccountTx, id: string): Promise<StoredExport | undefined> {
  const row = await tx.db
    .selectFrom('bulk_export')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined || row.patients !== null || row.status !== 'running') return row;
  const members =
    row.cohort_id === null
      ? sql`select id as patient_id, created_at as new_at from patient where account_id = ${tx.accountId}`
      : sql`select patient_id, added_at as new_at from cohort_member where cohort_id = ${row.cohort_id}`;
  const { numAffectedRows = 0n } = await sql`
    insert into bulk_export_patient (export_id, ordinal, account_id, patient_id, is_whole)
    select ${id}, row_number() over (order by patient_id), ${tx.accountId}, patient_id,
      coalesce(new_at > ${row.since}::timestamptz, true)
    from (${members}) member`.execute(tx.db);
  return tx.db
    .updateTable('bulk_export')
    .set({ patients: Number(numAffectedRows) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

export interface ExportMember {
  ordinal: number;
  patientId: string;
  isWhole: boolean;
}

export async function readMembers(
  tx: AccountTx,
  id: string,
  afterOrdinal: number,
  count: number,
): Promise<ExportMember[]> {
  return tx.db
    .selectFrom('bulk_export_patient')
    .select(['ordinal', 'patient_id as patientId', 'is_whole as isWhole'])
    .where('export_id', '=', id)
    .where('ordinal', '>', afterOrdinal)
    .orderBy('ordinal')
    .limit(count)
    .execute();
}

/** What a slice wrote, and how far it came. */
export interface WrittenSlice {
  /** Number of the slice; it is the number of those before. */
  slice: number;
  parts: { kind: FileKind; resourceType: string; lines: number; content: BlobRef }[];
  /** Ordinal of the last patient that is finished. */
  done: number;
  /** Place in the record of the next patient. */
  place: ConsolidatedPlace | undefined;
  resources: number;
  isLast: boolean;
  /** Patients whose data it contains, for the audit. */
  patientIds: readonly string[];
  /** Patients who were deleted before it, and of whom no file contains anything. */
  missingOrdinals: readonly number[];
}

/** Commits a slice. Returns undefined when the export has ended, or another execution has written this slice. */
export async function commitSlice(
  tx: AccountTx,
  id: string,
  written: WrittenSlice,
): Promise<StoredExport | undefined> {
  const { slice, parts, done, place, resources, isLast, patientIds, missingOrdinals } = written;
  const row = await tx.db
    .updateTable('bulk_export')
    .set({
      slices: slice + 1,
      done,
      place: place === undefined ? null : JSON.stringify(place),
      resources: sql<number>`resources + ${resources}`,
    })
    .$if(isLast, (query) => query.set({ status: 'completed', ended_at: sql<Date>`now()` }))
    .where(({ and }) => and({ id, status: 'running', slices: slice }))
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return undefined;
  if (parts.length > 0)
    await tx.db
      .insertInto('bulk_export_part')
      .values(
        parts.map(({ content, ...part }) => ({
          ...columnsOf({ ...part, exportId: id, slice, accountId: tx.accountId }),
          content: JSON.stringify(content),
        })),
      )
      .execute();
  if (missingOrdinals.length > 0)
    await tx.db
      .deleteFrom('bulk_export_patient')
      .where(({ and }) => and({ export_id: id, ordinal: sql<number>`any(${[...missingOrdinals]}::int[])` }))
      .execute();
  await insertAuditEntriesIn(
    tx,
    patientIds.map((patientId) => ({
      actor: row.actor,
      operation: 'fhirExport',
      patientId,
      targetId: id,
      outcome: '200',
    })),
  );
  return row;
}

/** Ends a running export. Returns false when it has already ended. */
export async function endExport(
  tx: AccountTx,
  id: string,
  end: { status: 'failed' | 'cancelled'; reason?: string },
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('bulk_export')
    .set({ status: end.status, reason: end.reason ?? null, ended_at: sql<Date>`now()`, place: null })
    .where(({ and }) => and({ id, status: 'running' }))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Withdraws a completed export: its files are deleted, and it is no longer found. */
export async function withdrawExport(tx: AccountTx, id: string): Promise<void> {
  await tx.db.updateTable('bulk_export').set({ status: 'cancelled' }).where('id', '=', id).execute();
}

/** In order of kind, type and slice. */
export async function readParts(tx: AccountTx, id: string): Promise<ExportPart[]> {
  const rows = await tx.db
    .selectFrom('bulk_export_part')
    .select(['kind', 'resource_type as resourceType', 'lines', 'content'])
    .where('export_id', '=', id)
    .orderBy('kind')
    .orderBy(sql`resource_type collate "C"`)
    .orderBy('slice')
    .execute();
  return rows.map(({ content: { ref, sizeBytes }, ...part }) => ({ ...part, ref, sizeBytes }));
}

/** Whether one of the exported patients has been deleted since; then the files must go, too. */
const CONTAINS_DELETED = sql<boolean>`exists (
  select from bulk_export_patient m where m.export_id = bulk_export.id and m.ordinal <= bulk_export.done
    and not exists (select from patient p where p.id = m.patient_id))`;

export async function containsDeletedPatient(tx: AccountTx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom('bulk_export')
    .select(CONTAINS_DELETED.as('contains'))
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.contains === true;
}

/** Exports, as rows with a workflow. */
export const exportRows = workflowRows<{ exportId: string }>({
  table: 'bulk_export',
  ids: { exportId: 'id' },
  since: 'created_at',
  open: sql`status = 'running'`,
});

/** Ended exports with files that are to be deleted: expired, not completed, or with a patient who was deleted since. */
export async function exportsToClear(
  tx: SystemTx,
  { keptHours, limit }: { keptHours: number; limit: number },
): Promise<{ accountId: string; exportId: string; since: Date }[]> {
  return tx.db
    .selectFrom('bulk_export')
    .select(['account_id as accountId', 'id as exportId'])
    .select(sql<Date>`coalesce(ended_at, created_at)`.as('since'))
    .where('files_deleted_at', 'is', null)
    .where('status', '<>', 'running')
    .where(
      sql<boolean>`(status <> 'completed' or ended_at < now() - ${keptHours} * interval '1 hour' or ${CONTAINS_DELETED})`,
    )
    .orderBy('ended_at')
    .limit(limit)
    .execute();
}

export async function markFilesDeleted(tx: AccountTx, id: string): Promise<void> {
  await tx.db.deleteFrom('bulk_export_part').where('export_id', '=', id).execute();
  await tx.db.deleteFrom('bulk_export_patient').where('export_id', '=', id).execute();
  await tx.db
    .updateTable('bulk_export')
    .set({ files_deleted_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}
