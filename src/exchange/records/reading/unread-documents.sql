select distinct on (d.source, d.source_document_id, d.sha256) d.source, d.file_name as "fileName",
  coalesce(c.reason, 'its content could not be read') as reason
from (
  select *, :broughtBy as brought_by,
    first_value(:broughtBy) over (
      partition by source, source_document_id order by created_at desc, id desc) as brought_last_by
  from document where patient_id = :patientId and kind = 'attachment' and source_document_id is not null
) d
join document same on same.patient_id = d.patient_id and same.source = d.source
  and same.source_document_id = d.source_document_id and same.sha256 = d.sha256
join document_conversion c on c.document_id = same.id
where d.brought_by = d.brought_last_by
  and (c.outcome in ('skipped', 'failed') or c.outcome = 'converted' and c.reason <> 'as before')
order by d.source, d.source_document_id, d.sha256, d.created_at desc
