import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { RecordSource } from '../../../contract/primitives.ts';
import { extensionOf } from '../../../lib/file-extension.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import { columnsOf, type Members } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  byteaArray,
  sqlFile,
  textArray,
} from '../../platform/database/pg-arrays.ts';

const REPLACED_DOCUMENTS = sqlFile('replaced-documents.sql', import.meta.url);
const UPSERT_RESOURCES = sqlFile('upsert-resources.sql', import.meta.url);
const LISTED_DOCUMENTS = sqlFile('listed-documents.sql', import.meta.url);
const DELETE_REPLACED = sqlFile('delete-replaced.sql', import.meta.url);

type StoredFile = Pick<
  Members<'document'>,
  | 'id'
  | 'patientId'
  | 'source'
  | 'kind'
  | 'fileName'
  | 'contentType'
  | 'sizeBytes'
  | 'sha256'
  | 'blobRef'
>;
export interface NewDocument extends StoredFile {
  /**
   * The query, message, notification or contribution that delivered it; exactly
   * one of them is set.
   */
  queryId?: string;
  messageId?: string;
  contributionId?: string;
  notified?: { subjectId: string; delivery: number };
  sourceDocumentId?: string;
}

/**
 * A stored file as a document of a source, named `<name>-<id>`; the file of a
 * resource (`fileKeyOf`) if that is given.
 */
export function documentOf(
  { ref: blobRef, sha256, ...blob }: BlobRef,
  source: RecordSource,
  {
    name = source,
    sourceDocumentId,
  }: { name?: string; sourceDocumentId?: string } = {},
): Omit<NewDocument, 'patientId'> {
  const id = uuidv7();
  return {
    id,
    source,
    sourceDocumentId,
    ...blob,
    blobRef,
    kind: sourceDocumentId === undefined ? 'page' : 'attachment',
    fileName: `${name}-${id}.${extensionOf(blob.contentType)}`,
    sha256: Buffer.from(sha256, 'hex'),
  };
}

export async function insertDocuments(
  tx: AccountTx,
  documents: readonly NewDocument[],
): Promise<void> {
  if (documents.length === 0) return;
  await tx.db.later
    .insertInto('document')
    .values(
      documents.map(({ notified, ...document }) =>
        columnsOf({ ...document, ...notified, accountId: tx.accountId }),
      ),
    )
    .execute();
}

/** More files than this are stored again. */
export const KNOWN_FILES_MAX = 2_000;

/**
 * The blobs of a patient's files that queries of a source have stored, by
 * SHA-256 (hex). They go with the patient, all together.
 */
export async function readStoredFiles(
  tx: AccountTx,
  patientId: string,
  source: RecordSource,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ sha256: string; ref: string }>`
    select encode(sha256, 'hex') as sha256, blob_ref as ref from document
    where patient_id = ${patientId} and source = ${source} and query_id is not null
    order by created_at desc limit ${KNOWN_FILES_MAX}`.execute(tx.db);
  return new Map(rows.map(({ sha256, ref }) => [sha256, ref]));
}

/**
 * When the attachments of a patient's resources were stored last by queries of a
 * source, by the resource (`fileKeyOf`).
 */
export async function readStoredDocuments(
  tx: AccountTx,
  patientId: string,
  source: RecordSource,
): Promise<ReadonlyMap<string, Date>> {
  const rows = await tx.db
    .selectFrom('document')
    .select(['source_document_id as id'])
    .select(({ fn }) => fn.max('created_at').as('storedAt'))
    .where(({ and }) => and({ patient_id: patientId, source }))
    .where('query_id', 'is not', null)
    .where('source_document_id', 'is not', null)
    .groupBy('source_document_id')
    .execute();
  return new Map(rows.map(({ id, storedAt }) => [id ?? '', storedAt]));
}

export interface CollectedResource {
  resourceType: string;
  /** Its id at the source. */
  sourceId: string;
  /** SHA-256 (hex) of the resource as received. */
  sha256: string;
  /** As JSON, with the file name of its document in `meta.source`. */
  json: string;
  /**
   * `meta.lastUpdated` and `meta.versionId` in text order (see `revisionOf`);
   * empty when the source gives neither.
   */
  revision: string;
}

/**
 * A resource as it is delivered in a document, in place of what was delivered
 * under its id before.
 */
export function deliveredIn(
  fileName: string,
  resource: { resourceType: string; id?: string; meta?: object },
): CollectedResource {
  return {
    resourceType: resource.resourceType,
    sourceId: resource.id ?? '',
    sha256: createHash('sha256').update(JSON.stringify(resource)).digest('hex'),
    json: JSON.stringify({
      ...resource,
      meta: { ...resource.meta, source: fileName },
    }),
    revision: '',
  };
}

/**
 * Stores each resource once, by its identity at the source. Unchanged content
 * changes nothing. Changed content replaces the stored one, unless both have a
 * revision and the stored one is newer. For two contents with the same revision
 * the greater hash wins, so that the order of arrival does not matter.
 */
export async function upsertResources(
  tx: AccountTx,
  of: {
    patientId: string;
    source: RecordSource;
    documentId: string;
    convertedFrom?: string;
  },
  resources: readonly CollectedResource[],
): Promise<void> {
  if (resources.length === 0) return;
  await UPSERT_RESOURCES({
    ...of,
    accountId: tx.accountId,
    convertedFrom: of.convertedFrom ?? null,
    types: textArray(resources.map(({ resourceType }) => resourceType)),
    ids: textArray(resources.map(({ sourceId }) => sourceId)),
    hashes: byteaArray(
      resources.map(({ sha256 }) =>
        Buffer.from(sha256, 'hex').toString('latin1'),
      ),
    ),
    contents: textArray(resources.map(({ json }) => toJsonb(json))),
    revisions: textArray(resources.map(({ revision }) => revision)),
  }).execute(tx.db.later);
}

/**
 * Removes NUL characters and unpaired surrogates, which jsonb cannot store.
 * (JSON.stringify escapes surrogates only when they are unpaired.)
 */
const toJsonb = (json: string): string =>
  json.includes('\\u')
    ? json.replaceAll(
        /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g,
        '$1',
      )
    : json;

/** What delivered a document: files that were delivered together share it. */
export const broughtBy = (document: string) => {
  const d = sql.raw(document);
  return sql<string>`coalesce(${d}.query_id::text, ${d}.message_id::text, ${d}.contribution_id::text, ${d}.subject_id::text || '/' || ${d}.delivery)`;
};

/**
 * A patient's documents as a person can get them, as rows of `document`: of
 * each document the files delivered by the newest query or message, equal files
 * once. Neither stored responses of sources nor what its source has withdrawn
 * or a policy withholds is among them.
 *
 * @param of a condition on the documents' identity at the source (`and d.…`)
 */
export const listedDocuments = (
  patientId: string,
  of: RawBuilder<unknown> = sql``,
) =>
  LISTED_DOCUMENTS({
    patientId,
    of,
    broughtBy: broughtBy('d'),
    isTakenBack: isDocumentTakenBack('d'),
  });

const REPLACES = '$.relatesTo[*] ? (@.code == "replaces").target.reference';

/**
 * SQL: the documents (`source`, `source_id`) of a patient that their source has
 * replaced (docs/merge.md, "What takes back what"): another one names it as
 * replaced, or is a later version of its set, directly or through others; that
 * one is itself not superseded or entered in error, is not replaced by it, and
 * what was made of it is in the record.
 */
export const replacedDocuments = (patientId: string) =>
  REPLACED_DOCUMENTS<{ source: string; source_id: string }>({
    patientId,
    replaces: REPLACES,
  });

/**
 * Deletes the resources of documents that their source has replaced, so that
 * the record does not state what the source has corrected. The documents stay
 * listed. If a replacement is withdrawn later, they are converted again.
 */
export async function deleteReplaced(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await DELETE_REPLACED({
    patientId,
    replaced: replacedDocuments(patientId),
  }).execute(tx.db.later);
}

/** The person's Patient ids at each source. */
export async function readSourcePatientIds(
  tx: AccountTx,
  patientId: string,
): Promise<Map<string, Set<string>>> {
  const rows = await tx.db
    .selectFrom('patient_at_source')
    .select(['source', 'source_patient_id as id'])
    .where('patient_id', '=', patientId)
    .execute();
  const ids = new Map<string, Set<string>>();
  for (const { source, id } of rows)
    ids.set(source, (ids.get(source) ?? new Set()).add(id));
  return ids;
}

export async function insertSourcePatientIds(
  tx: AccountTx,
  patientId: string,
  source: RecordSource,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await tx.db.later
    .insertInto('patient_at_source')
    .values(
      ids.map((sourcePatientId) =>
        columnsOf({
          accountId: tx.accountId,
          patientId,
          source,
          sourcePatientId,
        }),
      ),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Whether a row of `delivered_resource` is marked as entered in error. */
export const isReferenceInError = (reference: string) => sql<boolean>`
  coalesce('entered-in-error' in (${sql.raw(reference)}.standing->>'status', ${sql.raw(reference)}.standing->>'docStatus'), false)`;

/**
 * Whether the source has withdrawn a document: its resource is retired or marked
 * as entered in error, it came with a notification that was about another
 * person, or it was the body of a C-CDA document that is converted no more.
 */
export const isDocumentTakenBack = (document: string) => {
  const d = sql.raw(document);
  const reference = sql`r where r.patient_id = ${d}.patient_id and r.source = ${d}.source
    and r.resource_type = file_owner_type(${d}.source_document_id)
    and r.source_id = file_owner_id(${d}.source_document_id)`;
  return sql<boolean>`(exists (select from delivered_resource ${reference} and ${isReferenceInError('r')})
    or exists (select from retired_resource ${reference}) and not exists (select from patient_resource ${reference})
    or coalesce(${d}.source_document_id, '') ~ '^ccda\\.[0-9a-f]{16}\\.' and not exists (select from patient_resource ${reference})
    or exists (select from recorded_subject s
      where s.patient_id = ${d}.patient_id and s.subject_id = ${d}.subject_id and not s.is_about))`;
};
