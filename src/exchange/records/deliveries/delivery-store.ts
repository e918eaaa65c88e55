import { sql } from 'kysely';
import type { RecordSource } from '../../../contract/primitives.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { byteaArray, textArray } from '../../platform/database/pg-arrays.ts';

export interface NewDocument {
  id: string;
  /** Null for a message that could not be assigned to a patient. */
  patientId: string | null;
  /** The query, message or notification that delivered it; exactly one of them is set. */
  queryId?: string;
  messageId?: string;
  notified?: { subjectId: string; delivery: number };
  source: RecordSource;
  kind: 'page' | 'attachment';
  sourceDocumentId?: string;
  fileName: string;
  contentType: string;
  sizeBytes: number;
  sha256: Buffer;
  blobRef: string;
}

export async function insertDocuments(tx: AccountTx, documents: readonly NewDocument[]): Promise<void> {
  if (documents.length === 0) return;
  await tx.db
    .insertInto('document')
    .values(
      documents.map((document) => ({
        id: document.id,
        account_id: tx.accountId,
        patient_id: document.patientId,
        query_id: document.queryId ?? null,
        message_id: document.messageId ?? null,
        subject_id: document.notified?.subjectId ?? null,
        delivery: document.notified?.delivery ?? null,
        source: document.source,
        kind: document.kind,
        source_document_id: document.sourceDocumentId ?? null,
        file_name: document.fileName,
        content_type: document.contentType,
        size_bytes: document.sizeBytes,
        sha256: document.sha256,
        blob_ref: document.blobRef,
      })),
    )
    .execute();
}

export interface CollectedResource {
  resourceType: string;
  /** Its id at the source. */
  sourceId: string;
  /** SHA-256 (hex) of the resource as received. */
  sha256: string;
  /** As JSON, with the file name of its document in `meta.source`. */
  json: string;
  /** `meta.lastUpdated` and `meta.versionId` in text order (see `revisionOf`); empty when the source gives neither. */
  revision: string;
}

/**
 * Stores each resource once, by its identity at the source. Unchanged content changes nothing. Changed content replaces the
 * stored one, unless both have a revision and the stored one is newer. For two contents with the same revision the greater
 * hash wins, so that the order of arrival does not matter.
 */
export async function upsertResources(
  tx: AccountTx,
  of: { patientId: string; source: RecordSource; documentId: string; convertedFrom?: string },
  resources: readonly CollectedResource[],
): Promise<void> {
  if (resources.length === 0) return;
  await sql`
    insert into patient_resource as r
      (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, revision,
        converted_from)
    select ${tx.accountId}, ${of.patientId}, ${of.source}, n.type, n.id, ${of.documentId}, n.sha, n.content::jsonb,
      n.revision, ${of.convertedFrom ?? null}
    from unnest(${textArray(resources.map(({ resourceType }) => resourceType))}::text[],
      ${textArray(resources.map(({ sourceId }) => sourceId))}::text[],
      ${byteaArray(resources.map(({ sha256 }) => Buffer.from(sha256, 'hex').toString('latin1')))}::bytea[],
      ${textArray(resources.map(({ json }) => toJsonb(json)))}::text[],
      ${textArray(resources.map(({ revision }) => revision))}::text[]) as n(type, id, sha, content, revision)
    on conflict (patient_id, source, resource_type, source_id) do update set
      document_id = excluded.document_id, sha256 = excluded.sha256, content = excluded.content,
      revision = excluded.revision, converted_from = excluded.converted_from, collected_at = now()
    where r.sha256 <> excluded.sha256
      and (r.revision = '' or excluded.revision = '' or excluded.revision > r.revision
        or excluded.revision = r.revision and excluded.sha256 > r.sha256)
  `.execute(tx.db);
}

/**
 * Removes NUL characters and unpaired surrogates, which jsonb cannot store. (JSON.stringify escapes surrogates only when
 * they are unpaired.)
 */
const toJsonb = (json: string): string =>
  json.includes('\\u') ? json.replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1') : json;
