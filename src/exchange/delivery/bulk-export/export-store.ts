import { type Selectable, sql } from 'kysely';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import { insertAuditEntriesIn } from '../../platform/audit/audit-store.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import type { Database } from '../../platform/database/schema.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';
import type { ConsolidatedPlace } from '../../records/reading/read-consolidated.ts';
import type { ExportFileKind, ExportRequest } from './rules/export-request.ts';
import type { ExportPart } from './rules/files.ts';
import type { ViewPlan } from './rules/view-run.ts';

const BASE_RUN = sqlFile('base-run.sql', import.meta.url);
const LEFT_PATIENTS = sqlFile('left-patients.sql', import.meta.url);
const LIST_PATIENTS = sqlFile('list-patients.sql', import.meta.url);
const COMMIT_SLICE = sqlFile('commit-slice.sql', import.meta.url);
const TO_CLEAR = sqlFile('exports-to-clear.sql', import.meta.url);
const FORGET_FILES = sqlFile('forget-files.sql', import.meta.url);

export type StoredExport = Selectable<Database['bulk_export']>;

/**
 * How far the transaction time lies before the kick-off. Everything that was
 * committed until then is in the files: a transaction lasts no longer than
 * this, so that what it commits later has a later time, and is in the next
 * export.
 */
const SETTLED_AFTER = sql`interval '2 minutes'`;

export async function insertExport(
  tx: AccountTx,
  row: {
    id: string;
    cohortId?: string;
    actor: string;
    request: string;
    /** Set for a run of views. */
    view?: { plan: ViewPlan; key: string; baseId?: string };
  } & Omit<ExportRequest, 'ignored'>,
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
      view_plan: row.view === undefined ? null : JSON.stringify(row.view.plan),
      view_key: row.view?.key ?? null,
      base_id: row.view?.baseId ?? null,
    })
    .execute();
}

/**
 * The last completed run of the same views whose patients are still known, at
 * or before a time if one is given.
 */
export const findBase = async (
  tx: AccountTx,
  key: string,
  until?: string,
): Promise<StoredExport | undefined> =>
  (await BASE_RUN<StoredExport>({ key, until }).execute(tx.db)).rows[0];

/**
 * Ids of patients of the run before who are not in this one: deleted, or no
 * longer in the cohort.
 */
export async function readLeftPatients(
  tx: AccountTx,
  { id, base_id: base }: Pick<StoredExport, 'id' | 'base_id'>,
): Promise<string[]> {
  const { rows } = await LEFT_PATIENTS<{ id: string }>({ id, base }).execute(
    tx.db,
  );
  return rows.map((row) => row.id);
}

export const findExport = (
  tx: AccountTx,
  id: string,
): Promise<StoredExport | undefined> =>
  tx.db
    .selectFrom('bulk_export')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();

export async function countRunningExports(tx: AccountTx): Promise<number> {
  const { running } = await tx.db
    .selectFrom('bulk_export')
    .select(({ fn }) => fn.countAll<number>().as('running'))
    .where('status', '=', 'running')
    .executeTakeFirstOrThrow();
  return running;
}

/**
 * Lists the patients of an export, once. A patient who is new since its `since`
 * comes whole.
 */
export async function listExportPatients(
  tx: AccountTx,
  id: string,
): Promise<StoredExport | undefined> {
  await LIST_PATIENTS({ id }).execute(tx.db);
  return findExport(tx, id);
}

export interface ExportMember {
  ordinal: number;
  patientId: string;
  isWhole: boolean;
}

export async function readExportMembers(
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
  parts: {
    kind: ExportFileKind;
    resourceType: string;
    lines: number;
    content: BlobRef;
  }[];
  /** Ordinal of the last patient that is finished. */
  done: number;
  /** Place in the record of the next patient. */
  place: ConsolidatedPlace | undefined;
  resources: number;
  isLast: boolean;
  /** Patients whose data it contains, for the audit. */
  patientIds: readonly string[];
  /**
   * Patients who were deleted before it, and of whom no file contains anything.
   */
  missingOrdinals: readonly number[];
}

/**
 * Commits a slice. Returns undefined when the export has ended, or another
 * execution has written this slice.
 */
export async function commitSlice(
  tx: AccountTx,
  id: string,
  written: WrittenSlice,
): Promise<StoredExport | undefined> {
  const { place, parts, patientIds } = written;
  const { rows } = await COMMIT_SLICE<StoredExport>({
    ...written,
    id,
    parts: JSON.stringify(parts),
    place: place && JSON.stringify(place),
  }).execute(tx.db);
  const [row] = rows;
  if (row === undefined) return undefined;
  const entry = {
    actor: row.actor,
    operation: 'fhirExport',
    targetId: id,
    outcome: '200',
  };
  await insertAuditEntriesIn(
    tx,
    patientIds.map((patientId) => ({ ...entry, patientId })),
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
    .set({
      status: end.status,
      reason: end.reason ?? null,
      ended_at: sql<Date>`now()`,
      place: null,
    })
    .where(({ and }) => and({ id, status: 'running' }))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Withdraws a completed export: its files are deleted, and it is no longer
 * found.
 */
export async function withdrawExport(tx: AccountTx, id: string): Promise<void> {
  await tx.db
    .updateTable('bulk_export')
    .set({ status: 'cancelled' })
    .where('id', '=', id)
    .execute();
}

/** In order of kind, type and slice. */
export async function readExportParts(
  tx: AccountTx,
  id: string,
): Promise<ExportPart[]> {
  const rows = await tx.db
    .selectFrom('bulk_export_part')
    .select(['kind', 'resource_type as resourceType', 'lines', 'content'])
    .where('export_id', '=', id)
    .orderBy('kind')
    .orderBy(sql`resource_type collate "C"`)
    .orderBy('slice')
    .execute();
  return rows.map(({ content, ...part }) => ({ ...part, ...content }));
}

/**
 * Whether one of the exported patients has been deleted since; then the files
 * must go, too.
 */
const CONTAINS_DELETED = sql<boolean>`exists (
  select from bulk_export_patient m where m.export_id = bulk_export.id and m.ordinal <= bulk_export.done
    and not exists (select from patient p where p.id = m.patient_id))`;

export async function containsDeletedPatient(
  tx: AccountTx,
  id: string,
): Promise<boolean> {
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

/**
 * Ended exports with files that are to be deleted: expired, not completed, or
 * with a patient who was deleted since.
 */
export async function exportsToClear(
  tx: SystemTx,
  wanted: { keptHours: number; limit: number },
): Promise<{ accountId: string; exportId: string; since: Date }[]> {
  const containsDeleted = CONTAINS_DELETED;
  const found = TO_CLEAR<{ accountId: string; exportId: string; since: Date }>({
    ...wanted,
    containsDeleted,
  });
  return (await found.execute(tx.db)).rows;
}

export async function markFilesDeleted(
  tx: AccountTx,
  id: string,
): Promise<void> {
  await FORGET_FILES({ id }).execute(tx.db);
}
