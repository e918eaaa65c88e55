with mistaken as (
  select file_key(resource_type, source_id) as source_id from delivered_resource r
  where r.patient_id = :patientId and r.source = :source
    and :isEnteredInError),
conversion as (
  delete from document_conversion c using document d, mistaken
  where d.id = c.document_id and d.patient_id = :patientId and d.source = :source
    and d.source_document_id = mistaken.source_id)
delete from patient_resource r using mistaken
where r.patient_id = :patientId and r.source = :source and r.converted_from = mistaken.source_id
