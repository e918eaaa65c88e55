import { type RawBuilder, sql } from 'kysely';
import { isTakenBack } from './taken-back.ts';

/** What delivered a document: files that were delivered together share it. */
export const broughtBy = (document: string) => {
  const d = sql.raw(document);
  return sql<string>`coalesce(${d}.query_id::text, ${d}.message_id::text, ${d}.subject_id::text || '/' || ${d}.delivery)`;
};

/**
 * A patient's documents as a person can get them, as rows of `document`: of each document the files delivered by the
 * newest query or message, equal files once. Neither stored responses of sources nor what its source has withdrawn is among them.
 *
 * @param of a condition on the documents' identity at the source (`and d.…`)
 */
export const listedDocuments = (patientId: string, of: RawBuilder<unknown> = sql``) => sql`(
  select * from (
    select d.*,
      ${broughtBy('d')} as brought_by,
      first_value(${broughtBy('d')}) over (
        partition by d.source, coalesce(d.source_document_id, encode(d.sha256, 'hex'))
        order by d.created_at desc, d.id desc) as brought_last_by,
      row_number() over (
        partition by d.source, coalesce(d.source_document_id, ''), d.query_id, d.sha256
        order by d.created_at desc, d.id desc) as nth
    from document d
    where d.patient_id = ${patientId} and d.kind = 'attachment' and not ${isTakenBack('d')} ${of}
  ) as delivered
  where brought_by = brought_last_by and nth = 1)`;
