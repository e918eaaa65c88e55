import { sql } from 'kysely';
import type { RecordSource } from '../../contract/primitives.ts';
import { addToTimeline } from '../network-query/timeline-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import type { ConversionOutcome } from './tables.ts';

/** A document that may be C-CDA and was not looked at yet. */
export interface UnconvertedDocument {
  id: string;
  /** Undefined where a message brought it. */
  queryId: string | null;
  source: RecordSource;
  /** The source's id of the DocumentReference that names it. */
  sourceDocumentId: string;
  /** Its content type says so; others may turn out to be. */
  saysXml: boolean;
  sizeBytes: number;
  sha256: string;
  blobRef: string;
}

/** A source's documents of these kinds without an outcome, oldest first; none that the source took back or entered in error. */
export async function unconvertedDocuments(
  tx: AccountTx,
  patientId: string,
  source: RecordSource,
): Promise<UnconvertedDocument[]> {
  const { rows } = await sql<UnconvertedDocument>`
    select d.id, d.query_id as "queryId", d.source, d.source_document_id as "sourceDocumentId",
      d.content_type like '%xml%' as "saysXml", d.size_bytes as "sizeBytes", encode(d.sha256, 'hex') as sha256, d.blob_ref as "blobRef"
    from document d
    where d.patient_id = ${patientId} and d.source = ${source} and d.kind = 'attachment'
      and d.source_document_id is not null
      and (d.content_type like '%xml%' or d.content_type in ('application/octet-stream', 'text/plain'))
      and not exists (select from document_conversion c where c.document_id = d.id)
      and (not exists (select from retired_resource t where t.patient_id = d.patient_id and t.source = d.source
          and t.resource_type = 'DocumentReference' and t.source_id = d.source_document_id)
        or exists (select from patient_resource r where r.patient_id = d.patient_id and r.source = d.source
          and r.resource_type = 'DocumentReference' and r.source_id = d.source_document_id))
      and not exists (select from patient_resource r where r.patient_id = d.patient_id and r.source = d.source
        and r.resource_type = 'DocumentReference' and r.source_id = d.source_document_id and ${isEnteredInError('r')})
    order by d.created_at, d.id`.execute(tx.db);
  return rows;
}

/** Whether these bytes are what the document's resources were made of the last time. */
export async function isConvertedAlready(
  tx: AccountTx,
  patientId: string,
  document: Pick<UnconvertedDocument, 'source' | 'sourceDocumentId' | 'sha256'>,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom('patient_resource as r')
    .innerJoin('document as d', 'd.id', 'r.document_id')
    .select(sql<string>`encode(d.sha256, 'hex')`.as('sha256'))
    .where('r.patient_id', '=', patientId)
    .where('r.source', '=', document.source)
    .where('r.converted_from', '=', document.sourceDocumentId)
    .orderBy('d.created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.sha256 === document.sha256;
}

/** The source says of the whole document that it was a mistake. */
export const isEnteredInError = (reference: string) => sql<boolean>`
  coalesce('entered-in-error' in (${sql.raw(reference)}.content->>'status', ${sql.raw(reference)}.content->>'docStatus'), false)`;

/** Takes back what was made of documents that their source entered in error; should one be right again, it is converted anew. */
export async function deleteMadeInError(
  tx: AccountTx,
  patientId: string,
  source: RecordSource,
): Promise<void> {
  await sql`
    with mistaken as (
      select source_id from patient_resource r
      where r.patient_id = ${patientId} and r.source = ${source} and r.resource_type = 'DocumentReference'
        and ${isEnteredInError('r')}),
    conversion as (
      delete from document_conversion c using document d, mistaken
      where d.id = c.document_id and d.patient_id = ${patientId} and d.source = ${source}
        and d.source_document_id = mistaken.source_id)
    delete from patient_resource r using mistaken
    where r.patient_id = ${patientId} and r.source = ${source} and r.converted_from = mistaken.source_id`.execute(
    tx.db,
  );
}

/** Resources of earlier deliveries of a document, but for those with these ids. */
export async function deleteConverted(
  tx: AccountTx,
  patientId: string,
  document: Pick<UnconvertedDocument, 'source' | 'sourceDocumentId'>,
  keptIds: readonly string[],
): Promise<void> {
  await sql`
    delete from patient_resource
    where patient_id = ${patientId} and source = ${document.source}
      and converted_from = ${document.sourceDocumentId}
      and not resource_type || '/' || source_id = any(${[...keptIds]}::text[])`.execute(tx.db);
}

/** Tells in the timeline of the query that brought a document, if that is still there. */
export async function tellOfDocument(
  tx: AccountTx,
  document: Pick<UnconvertedDocument, 'source' | 'queryId'>,
  message: string,
): Promise<void> {
  if (document.queryId === null || document.source === 'message') return;
  const query = await tx.db
    .selectFrom('network_query')
    .select('id')
    .where('id', '=', document.queryId)
    .executeTakeFirst();
  if (query === undefined) return;
  await addToTimeline(tx, document.queryId, { source: document.source, kind: 'incomplete', message });
}

/** Notes the same of many documents; of one that has an outcome already, nothing. */
export async function insertOutcomes(
  tx: AccountTx,
  patientId: string,
  documentIds: readonly string[],
  outcome: 'not-cda' | 'superseded',
): Promise<void> {
  await sql`
    insert into document_conversion (document_id, account_id, patient_id, outcome, resources)
    select id, ${tx.accountId}, ${patientId}, ${outcome}, 0 from unnest(${[...documentIds]}::uuid[]) as d (id)
    on conflict do nothing`.execute(tx.db);
}

/** Notes what became of a document; false when somebody else has done so. */
export async function insertConversion(
  tx: AccountTx,
  patientId: string,
  documentId: string,
  outcome: { outcome: ConversionOutcome; reason?: string; resources?: number },
): Promise<boolean> {
  const row = await tx.db
    .insertInto('document_conversion')
    .values({
      document_id: documentId,
      account_id: tx.accountId,
      patient_id: patientId,
      outcome: outcome.outcome,
      reason: outcome.reason ?? null,
      resources: outcome.resources ?? 0,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('document_id')
    .executeTakeFirst();
  return row !== undefined;
}
