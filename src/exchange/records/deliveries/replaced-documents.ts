import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';

const REPLACES = '$.relatesTo[*] ? (@.code == "replaces").target.reference';

/**
 * SQL: the documents (`source`, `source_id`) of a patient that their source has replaced. Only if both say so: the document is
 * `superseded`, and another one names it as replaced, directly or through others, is itself not superseded or entered in
 * error, and what was made of it is in the record.
 */
export const replacedDocuments = (patientId: string) => sql<{ source: string; source_id: string }>`
  with recursive reference as (
    select source, source_id, content, coalesce(content->>'status', '') as status from patient_resource
    where patient_id = ${patientId} and resource_type = 'DocumentReference'
  ), link as (
    select old.source, old.source_id, newer.source_id as newer_id
    from reference as newer cross join lateral jsonb_path_query(newer.content, ${REPLACES}::jsonpath) as target
      join reference as old on old.source = newer.source and old.status = 'superseded'
        and regexp_replace(target #>> '{}', '/_history/.*$', '') = 'DocumentReference/' || old.source_id
    where newer.content ? 'relatesTo'
  ), replaced as (
    select source, source_id, newer_id from link
    union
    select replaced.source, replaced.source_id, link.newer_id
    from replaced join link on link.source = replaced.source and link.source_id = replaced.newer_id
  )
  select distinct replaced.source, replaced.source_id
  from replaced join reference as newer on newer.source = replaced.source and newer.source_id = replaced.newer_id
  where newer.status not in ('superseded', 'entered-in-error')
    and coalesce(newer.content->>'docStatus', '') <> 'entered-in-error'
    and exists (select from patient_resource as made
      where made.patient_id = ${patientId} and made.source = newer.source and made.converted_from = newer.source_id)`;

/**
 * Deletes the resources and outcomes of documents that their source has replaced, so that the record does not state what the
 * source has corrected. The documents stay listed. If a replacement is withdrawn later, they are converted again.
 */
export async function deleteReplaced(tx: AccountTx, patientId: string): Promise<void> {
  await sql`
    with replaced as (${replacedDocuments(patientId)}),
    conversion as (
      delete from document_conversion c using document d, replaced
      where d.id = c.document_id and d.patient_id = ${patientId} and d.source = replaced.source
        and d.source_document_id = replaced.source_id)
    delete from patient_resource r using replaced
    where r.patient_id = ${patientId} and r.source = replaced.source and r.converted_from = replaced.source_id`.execute(
    tx.db,
  );
}
