import { sql } from 'kysely';
import type { CcdaVersion } from '#ccda-to-fhir';
import type { RecordSource } from '../../../contract/primitives.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { sqlFile, textArray } from '../../platform/database/pg-arrays.ts';
import {
  broughtBy,
  isDocumentTakenBack,
  isReferenceInError,
  type NewDocument,
  replacedDocuments,
} from '../deliveries/delivery-store.ts';
import type { ConversionOutcome } from '../tables.ts';
import { CONVERSION_RULES } from './ccda-converter.ts';

const UNCONVERTED_DOCUMENTS = sqlFile(
  'unconverted-documents.sql',
  import.meta.url,
);
const REMOVE_MISTAKEN = sqlFile('remove-mistaken.sql', import.meta.url);

/**
 * A document that may be C-CDA and must be converted, for the first time or
 * again.
 */
export interface UnconvertedDocument {
  id: string;
  /** Null when the document came with a message or a notification. */
  queryId: string | null;
  broughtBy: string;
  source: RecordSource;
  /** The source's resource that refers to it (`fileKeyOf`). */
  sourceDocumentId: string;
  /** Whether its content type is XML; others may still turn out to be XML. */
  saysXml: boolean;
  sizeBytes: number;
  sha256: string;
  blobRef: string;
  /** Null when it was not looked at yet. */
  formerOutcome: ConversionOutcome | null;
  formerReason: string | null;
  /** No outcome is known, or one by older rules. */
  isOutdated: boolean;
}

const mayBeCcda = sql`d.kind = 'attachment' and d.source_document_id is not null
  and (d.content_type like '%xml%' or d.content_type in ('application/octet-stream', 'text/plain'))`;

/** Outcomes by older rules that today's rules may change. */
const CONVERTED_AGAIN = sql`'converted', 'skipped', 'failed'`;

/**
 * Whether there may be documents to convert (`unconvertedDocuments`), and
 * whether the record has resources of any that its source has marked as
 * superseded or entered in error, or of any that names related ones. Most
 * merges find neither, by this statement alone.
 */
export async function readDocumentWork(
  tx: AccountTx,
  patientId: string,
  source?: RecordSource,
): Promise<{ hasUnconverted: boolean; hasWithdrawn: boolean }> {
  const isNew =
    source === undefined
      ? sql`false`
      : sql`(c.document_id is null and d.source = ${source})`;
  const { rows } = await sql<{
    hasUnconverted: boolean;
    hasWithdrawn: boolean;
  }>`
    select
      exists (select from document d left join document_conversion c on c.document_id = d.id
        where d.patient_id = ${patientId} and ${mayBeCcda}
          and (${isNew} or c.rules < ${CONVERSION_RULES} and c.outcome in (${CONVERTED_AGAIN})))
        as "hasUnconverted",
      exists (select from (select distinct source, converted_from from patient_resource
          where patient_id = ${patientId} and converted_from is not null) made
        join delivered_resource r on r.patient_id = ${patientId} and r.source = made.source
          and r.resource_type = file_owner_type(made.converted_from) and r.source_id = file_owner_id(made.converted_from)
        where r.standing->>'status' = 'superseded' or r.standing ? 'relatesTo' or ${isReferenceInError('r')})
        as "hasWithdrawn"`.execute(tx.db);
  return rows[0] ?? { hasUnconverted: true, hasWithdrawn: true };
}

/**
 * Documents to convert, oldest first: those of any source that older rules
 * converted, and with a source also its documents without an outcome. All files
 * of a resource are returned together, because they are converted
 * together. Documents that their source retired, replaced or marked as entered
 * in error are left out.
 */
export async function unconvertedDocuments(
  tx: AccountTx,
  patientId: string,
  source?: RecordSource,
): Promise<UnconvertedDocument[]> {
  const wanted =
    source === undefined
      ? sql`c.document_id is not null`
      : sql`(c.document_id is not null or d.source = ${source})`;
  const { rows } = await UNCONVERTED_DOCUMENTS<UnconvertedDocument>({
    broughtBy: broughtBy('d'),
    rules: CONVERSION_RULES,
    patientId,
    wanted,
    mayBeCcda,
    convertedAgain: CONVERTED_AGAIN,
    isTakenBack: isDocumentTakenBack('d'),
    replaced: replacedDocuments(patientId),
  }).execute(tx.db);
  return rows;
}

/**
 * Notes that a document states what was converted before, if the record's
 * resources of it were made of the same bytes by the current rules. Returns
 * whether that is so.
 */
export async function insertAsBefore(
  tx: AccountTx,
  patientId: string,
  {
    id,
    source,
    sourceDocumentId,
    sha256,
  }: Pick<UnconvertedDocument, 'id' | 'source' | 'sourceDocumentId' | 'sha256'>,
): Promise<boolean> {
  const { rows } = await sql<{ isSame: boolean }>`
    with newest as (
      select d.sha256 from patient_resource r
        join document d on d.id = r.document_id
        join document_conversion c on c.document_id = d.id
      where r.patient_id = ${patientId} and r.source = ${source} and r.converted_from = ${sourceDocumentId}
        and c.rules = ${CONVERSION_RULES}
      order by d.created_at desc limit 1
    ), same as (
      select from newest where sha256 = decode(${sha256}, 'hex')
    ), written as (
      insert into document_conversion as c (document_id, account_id, patient_id, outcome, reason, resources, rules)
      select ${id}, ${tx.accountId}, ${patientId}, 'converted', 'as before', 0, ${CONVERSION_RULES} from same
      ${replacingOlder}
    )
    select exists (select from same) as "isSame"`.execute(tx.db);
  return rows[0]?.isSame ?? false;
}

/**
 * Deletes the resources and outcomes of documents that their source marked as
 * entered in error. If the mark is removed later, the document is converted
 * again.
 */
export async function deleteMadeInError(
  tx: AccountTx,
  patientId: string,
  source: RecordSource,
): Promise<void> {
  await REMOVE_MISTAKEN({
    patientId,
    source,
    isEnteredInError: isReferenceInError('r'),
  }).execute(tx.db.later);
}

/**
 * Deletes the resources converted from earlier versions of a document, except
 * those with the given ids.
 */
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
      and not resource_type || '/' || source_id = any(${[...keptIds]}::text[])`.execute(
    tx.db.later,
  );
}

/**
 * Records one outcome for many documents; an outcome by the current rules is
 * kept.
 */
export async function insertOutcomes(
  tx: AccountTx,
  patientId: string,
  documentIds: readonly string[],
  outcome: 'not-cda' | 'superseded',
): Promise<void> {
  await sql`
    insert into document_conversion as c (document_id, account_id, patient_id, outcome, resources, rules)
    select id, ${tx.accountId}, ${patientId}, ${outcome}, 0, ${CONVERSION_RULES}
    from unnest(${[...documentIds]}::uuid[]) as d (id)
    ${replacingOlder}`.execute(tx.db.later);
}

/**
 * Records the outcome of a conversion; returns false when the document already
 * has one by the current rules.
 *
 * @param outcome.isPassing whether to try again with the next merge
 */
export async function insertConversion(
  tx: AccountTx,
  patientId: string,
  documentId: string,
  { outcome, reason, resources, isPassing = false, version }: NewOutcome,
): Promise<boolean> {
  const { rows } = await sql`
    insert into document_conversion as c (document_id, account_id, patient_id, outcome, reason, resources, rules,
      cda_id, cda_set, cda_version, cda_replaces)
    values (${documentId}, ${tx.accountId}, ${patientId}, ${outcome}, ${reason ?? null}, ${resources ?? 0},
      ${isPassing ? 0 : CONVERSION_RULES},
      ${version?.id ?? null}, ${version?.set ?? null}, ${version?.number ?? null}, ${version === undefined ? null : textArray(version.replaces)})
    ${replacingOlder} returning document_id`.execute(tx.db);
  return rows.length > 0;
}

/**
 * Whether the file of a document's body is stored already, as the document read
 * now has it.
 */
export async function isBodyStored(
  tx: AccountTx,
  part: Pick<UnconvertedDocument, 'id'>,
  body: { sourceDocumentId: string; sha256: string },
): Promise<boolean> {
  const { rows } = await sql`
    select from document own join document d on d.id = ${part.id}
      and own.patient_id = d.patient_id and own.source = d.source
    where own.source_document_id = ${body.sourceDocumentId}
      and own.sha256 = decode(${body.sha256}, 'hex')
      and ${broughtBy('own')} = ${broughtBy('d')}`.execute(tx.db);
  return rows.length > 0;
}

/** What brought a document, for another one that was in it. */
export async function readDeliveryOf(
  tx: AccountTx,
  documentId: string,
): Promise<
  Pick<NewDocument, 'queryId' | 'messageId' | 'contributionId' | 'notified'>
> {
  const { query_id, message_id, contribution_id, subject_id, delivery } =
    await tx.db
      .selectFrom('document')
      .select([
        'query_id',
        'message_id',
        'contribution_id',
        'subject_id',
        'delivery',
      ])
      .where('id', '=', documentId)
      .executeTakeFirstOrThrow();
  return {
    queryId: query_id ?? undefined,
    messageId: message_id ?? undefined,
    contributionId: contribution_id ?? undefined,
    notified:
      subject_id === null || delivery === null
        ? undefined
        : { subjectId: subject_id, delivery },
  };
}

export interface NewOutcome {
  outcome: ConversionOutcome;
  reason?: string;
  resources?: number;
  isPassing?: boolean;
  /** Of a document that was converted. */
  version?: CcdaVersion;
}

const replacingOlder = sql`
  on conflict (document_id) do update set outcome = excluded.outcome, reason = excluded.reason,
    resources = excluded.resources, rules = excluded.rules, converted_at = now(),
    cda_id = excluded.cda_id, cda_set = excluded.cda_set, cda_version = excluded.cda_version,
    cda_replaces = excluded.cda_replaces
  where c.rules < ${CONVERSION_RULES}`;
