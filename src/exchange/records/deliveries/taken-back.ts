import { sql } from 'kysely';

/** Whether a DocumentReference row is marked as entered in error. */
export const isEnteredInError = (reference: string) => sql<boolean>`
  coalesce('entered-in-error' in (${sql.raw(reference)}.content->>'status', ${sql.raw(reference)}.content->>'docStatus'), false)`;

/**
 * Whether the source has withdrawn a document: its DocumentReference is retired or marked as entered in error, or it came with
 * a notification that was about another person.
 */
export const isTakenBack = (document: string) => {
  const d = sql.raw(document);
  const reference = sql`r where r.patient_id = ${d}.patient_id and r.source = ${d}.source
    and r.resource_type = 'DocumentReference' and r.source_id = ${d}.source_document_id`;
  return sql<boolean>`(exists (select from patient_resource ${reference} and ${isEnteredInError('r')})
    or exists (select from retired_resource ${reference}) and not exists (select from patient_resource ${reference})
    or exists (select from recorded_subject s
      where s.patient_id = ${d}.patient_id and s.subject_id = ${d}.subject_id and not s.is_about))`;
};
