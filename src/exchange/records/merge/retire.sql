with named as (
  select * from json_to_recordset(:retired::json)
    as n("resourceType" text, id text, reason text, revision text)),
own as (
  delete from patient_resource r using named n
  where r.patient_id = :patientId and r.source = :source and r.converted_from is null
    and r.resource_type = n."resourceType" and r.source_id = n.id
    and (n.revision = '' or r.revision = '' or n.revision >= r.revision)
  returning r.*, n.reason),
made_of_it as (
  delete from patient_resource r using own
  where r.patient_id = :patientId and r.source = :source
    and r.converted_from = file_key(own.resource_type, own.source_id)
  returning r.*, own.reason),
-- If the document is delivered again, it is converted again.
conversion as (
  delete from document_conversion c using document d, own
  where d.id = c.document_id and d.patient_id = :patientId and d.source = :source
    and d.source_document_id = file_key(own.resource_type, own.source_id))
insert into retired_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content,
  pack, place, revision, converted_from, collected_at, reason, query_id, attempt)
select account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, pack, place, revision,
  converted_from, collected_at, reason, :requestId::uuid, :attempt::int
from (select * from own union all select * from made_of_it) gone
on conflict do nothing
