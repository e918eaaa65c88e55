with own as (
  delete from patient_resource r
  where r.patient_id = :patientId and r.source = :source
    and starts_with(coalesce(file_owner_id(r.converted_from), r.source_id), :namespace)
    and not (case when r.converted_from is null then r.resource_type || '/' || r.source_id
      else file_owner_type(r.converted_from) || '/' || file_owner_id(r.converted_from) end) = any(:present::text[])
  returning r.*),
-- If the document is delivered again, it is converted again.
conversion as (
  delete from document_conversion c using document d, own
  where d.id = c.document_id and d.patient_id = :patientId and d.subject_id = :subjectId
    and d.source_document_id = file_key(own.resource_type, own.source_id))
insert into retired_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content,
  pack, place, revision, converted_from, collected_at, reason, subject_id)
select account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, pack, place, revision,
  converted_from, collected_at, :reason, :subjectId::uuid
from own on conflict do nothing
