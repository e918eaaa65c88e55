import { sql } from 'kysely';
import type { RecordSource } from '../../contract/primitives.ts';
import type { AccountTx } from '../platform/database/database.ts';

export interface NewDocument {
  id: string;
  /** Null: of a message about somebody unknown. */
  patientId: string | null;
  /** What brought it: the one or the other. */
  queryId?: string;
  messageId?: string;
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
  /** The id that the source gave it. */
  sourceId: string;
  /** SHA-256 (hex) of the resource as it came. */
  sha256: string;
  /** As JSON, with the name of its document in `meta.source`. */
  json: string;
  /** When and as which version its source wrote it, in text order; empty when it does not say. */
  revision: string;
}

/**
 * Stores resources once by their identity at the source; the same content again changes nothing, other content
 * replaces what was there, unless both say which version they are and what was there is the newer one. Of two
 * contents that claim to be one version the greater hash stays, so that the order in which they come is nothing.
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
    select ${tx.accountId}, ${of.patientId}, ${of.source}, n.type, n.id, ${of.documentId}, decode(n.sha, 'hex'), n.content,
      n.revision, ${of.convertedFrom ?? null}
    from json_to_recordset(${toRecordset(resources)}::json) as n(type text, id text, sha text,
      content jsonb, revision text)
    on conflict (patient_id, source, resource_type, source_id) do update set
      document_id = excluded.document_id, sha256 = excluded.sha256, content = excluded.content,
      revision = excluded.revision, converted_from = excluded.converted_from, collected_at = now()
    where r.sha256 <> excluded.sha256
      and (r.revision = '' or excluded.revision = '' or excluded.revision > r.revision
        or excluded.revision = r.revision and excluded.sha256 > r.sha256)
  `.execute(tx.db);
}

/** One text instead of an array of texts, whose every quotation mark would have to be escaped once more. */
const toRecordset = (resources: readonly CollectedResource[]): string =>
  `[${resources.map(toRecord).join(',')}]`;

const toRecord = ({ resourceType, sourceId, sha256, json, revision }: CollectedResource): string =>
  `{"type":${JSON.stringify(resourceType)},"id":${JSON.stringify(sourceId)},"sha":"${sha256}","revision":"${revision}","content":${toJsonb(json)}}`;

/**
 * jsonb has no place for the character NUL, nor for half of a surrogate pair (which is all that JSON.stringify still
 * writes as an escape of that range); a source's text is kept without them.
 */
const toJsonb = (json: string): string =>
  json.includes('\\u') ? json.replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1') : json;
