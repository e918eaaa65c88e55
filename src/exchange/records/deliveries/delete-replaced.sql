with replaced as (:replaced),
conversion as (
  -- By no rules: it is converted again when nothing replaces it any more. What its header says is kept.
  update document_conversion c set rules = 0, reason = null, resources = 0
  from document d, replaced
  where d.id = c.document_id and d.patient_id = :patientId and d.source = replaced.source
    and d.source_document_id = replaced.source_id and c.outcome = 'converted' and c.rules > 0)
delete from patient_resource r using replaced
where r.patient_id = :patientId and r.source = replaced.source and r.converted_from = replaced.source_id
