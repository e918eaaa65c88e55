delete from retired_resource where (patient_id, source, resource_type, source_id, retired_at) in (
  select r.patient_id, r.source, r.resource_type, r.source_id, r.retired_at from retired_resource r
  where :due and not :held
  order by r.retired_at limit :limit for update skip locked)
returning account_id as "accountId"
