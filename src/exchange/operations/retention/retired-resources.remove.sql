with due as materialized (
  select r.patient_id, r.source, r.resource_type, r.source_id, r.retired_at from retired_resource r
  where :due and not :held
  order by r.retired_at limit :limit for update skip locked
)
delete from retired_resource using due
where (retired_resource.patient_id, retired_resource.source, retired_resource.resource_type, retired_resource.source_id,
  retired_resource.retired_at) = (due.patient_id, due.source, due.resource_type, due.source_id, due.retired_at)
returning retired_resource.account_id as "accountId"
