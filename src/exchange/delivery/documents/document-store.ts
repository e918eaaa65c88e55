import { sql } from 'kysely';
import type { DocumentFormat } from '../../../contract/documents.ts';
import type { Members } from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import {
  isDocumentTakenBack,
  listedDocuments,
  replacedDocuments,
} from '../../records/deliveries/delivery-store.ts';
import { referenceOf } from './reference-of.ts';

/**
 * A stored file: an attachment from a source or a message, or a source's
 * response that contained resources.
 */
export type StoredDocument = Pick<
  Members<'document'>,
  | 'id'
  | 'patientId'
  | 'source'
  | 'fileName'
  | 'contentType'
  | 'sizeBytes'
  | 'blobRef'
>;

/** A document found by name or id, whether or not it is listed. */
export interface FoundDocument extends StoredDocument {
  /**
   * Whether its source has withdrawn it; its content must then not be returned.
   */
  isTakenBack: boolean;
  /**
   * Whether the account's or the patient's policy on sensitive data withholds
   * it.
   */
  isWithheld: boolean;
}

/** A document with what its source says of it. */
export interface ListedDocument extends StoredDocument {
  patientId: string;
  collectedAt: Date;
  /**
   * Its DocumentReference as delivered, or one with what another type of resource
   * says of it; null when there is none.
   */
  reference: Record<string, unknown> | null;
  /** A newer document of its source replaces it. */
  isReplaced: boolean;
}

/**
 * A patient's documents from sources and messages, as `listedDocuments` selects
 * them.
 */
export async function listDocuments(
  tx: AccountTx,
  patientId: string,
): Promise<ListedDocument[]> {
  const { rows } = await sql<ListedDocument>`
    with listed as materialized (
      select d.*, r.content, r.pack, r.place
      from ${listedDocuments(patientId)} as d
      left join patient_resource r on r.patient_id = d.patient_id and r.source = d.source
        and r.resource_type = file_owner_type(d.source_document_id)
        and r.source_id = file_owner_id(d.source_document_id)
    ), opened as materialized (
      select * from opened_packs(${patientId}, array(select distinct pack from listed where pack is not null))
    )
    select d.id, d.patient_id as "patientId", d.source, d.file_name as "fileName", d.content_type as "contentType",
      d.size_bytes as "sizeBytes", d.blob_ref as "blobRef", d.created_at as "collectedAt",
      case when d.pack is null then d.content else content_in(o.contents, d.place) end as reference,
      coalesce((d.source, d.source_document_id) in (${replacedDocuments(patientId)}), false) as "isReplaced"
    from listed d left join opened o using (pack)`.execute(tx.db);
  return rows.map((row) => ({
    ...row,
    reference: row.reference && referenceOf(row.reference),
  }));
}

const DOCUMENT = [
  'id',
  'patient_id as patientId',
  'source',
  'file_name as fileName',
  'content_type as contentType',
  'size_bytes as sizeBytes',
  'blob_ref as blobRef',
] as const;

export const findDocumentByName = (
  tx: AccountTx,
  fileName: string,
): Promise<FoundDocument | undefined> =>
  documents(tx).where('file_name', '=', fileName).executeTakeFirst();

/** The ids of attachments, by their file names. */
export async function findAttachmentIds(
  tx: AccountTx,
  fileNames: readonly string[],
) {
  if (fileNames.length === 0) return new Map<string, string>();
  const found = documents(tx)
    .where('kind', '=', 'attachment')
    .where('file_name', 'in', fileNames);
  return new Map(
    (await found.execute()).map(({ id, fileName }) => [fileName, id]),
  );
}

/** Finds an attachment by its id, which messages refer to. */
export const findAttachment = (
  tx: AccountTx,
  id: string,
): Promise<FoundDocument | undefined> =>
  documents(tx)
    .where('id', '=', id)
    .where('kind', '=', 'attachment')
    .executeTakeFirst();

export const findDocument = (
  tx: AccountTx,
  id: string,
): Promise<FoundDocument | undefined> =>
  documents(tx).where('id', '=', id).executeTakeFirst();

const documents = (tx: AccountTx) =>
  tx.db
    .selectFrom('document')
    .select(DOCUMENT)
    .select(isDocumentTakenBack('document').as('isTakenBack'))
    .select(sql<boolean>`is_withheld(document)`.as('isWithheld'));

/** A document converted to html or pdf. */
export type Rendition = Pick<
  Members<'document_rendition'>,
  'id' | 'format' | 'sizeBytes' | 'blobRef'
>;

const RENDITION = [
  'id',
  'format',
  'size_bytes as sizeBytes',
  'blob_ref as blobRef',
] as const;

/** The newest rendition that will not be deleted soon. */
export async function findRendition(
  tx: AccountTx,
  documentId: string,
  format: DocumentFormat,
): Promise<Rendition | undefined> {
  return tx.db
    .selectFrom('document_rendition')
    .select(RENDITION)
    .where(({ and }) => and({ document_id: documentId, format }))
    .where('created_at', '>', sql<Date>`now() - interval '12 hours'`)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Returns false when the document has been deleted in the meantime. */
export async function insertRendition(
  tx: AccountTx,
  documentId: string,
  { id, format, sizeBytes, blobRef }: Rendition,
): Promise<boolean> {
  const { rows } = await sql`
    insert into document_rendition (id, account_id, document_id, format, size_bytes, blob_ref)
    select ${id}::uuid, ${tx.accountId}::uuid, d.id, ${format}, ${sizeBytes}, ${blobRef}
    from document d where d.id = ${documentId} for key share
    returning id`.execute(tx.db);
  return rows.length > 0;
}

/** A rendition with the document it was made from. */
export async function findRenditionById(
  tx: AccountTx,
  id: string,
): Promise<{ rendition: Rendition; document: FoundDocument } | undefined> {
  const row = await tx.db
    .selectFrom('document_rendition')
    .select([...RENDITION, 'document_id'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { document_id, ...rendition } = row;
  const document = await findDocument(tx, document_id);
  return document && { rendition, document };
}

/**
 * Deletes renditions older than a day, in all accounts; a trigger records their
 * blobs for erasure.
 *
 * @returns number of deleted renditions
 */
export async function deleteOldRenditions(
  tx: SystemTx,
  limit: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from document_rendition where id in (
      select id from document_rendition where created_at < now() - interval '1 day'
      order by created_at limit ${limit})`.execute(tx.db);
  return Number(numAffectedRows ?? 0);
}
