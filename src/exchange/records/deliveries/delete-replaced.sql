with replaced as (:replaced),
conversion as (
  delete from document_conversion c using document d, replaced
  where d.id = c.document_id and d.patient_id = :patientId and d.source = replaced.source
    and d.source_document_id = replaced.source_id)
delete from patient_resource r using replaced
where r.patient_id = :patientId and r.source = replaced.source and r.converted_from = replaced.source_id
