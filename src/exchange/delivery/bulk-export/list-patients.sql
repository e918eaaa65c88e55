with unlisted as (
  select id, account_id, cohort_id, since, view_key, base_id from bulk_export
  where id = :id and patients is null and status = 'running'
  for update
), member as (
  select p.id as patient_id, p.created_at as new_at, p.hie_opt_out
  from unlisted e join patient p on p.account_id = e.account_id where e.cohort_id is null
  union all
  select p.id, m.added_at, p.hie_opt_out
  from unlisted e join cohort_member m on m.cohort_id = e.cohort_id join patient p on p.id = m.patient_id
), listed as (
  insert into bulk_export_patient (export_id, ordinal, account_id, patient_id, is_whole)
  select e.id, row_number() over (order by m.patient_id), e.account_id, m.patient_id,
    coalesce(m.new_at > e.since, true) or (e.base_id is not null and b.patient_id is null)
      -- What the account withheld until then may be released. A run of views follows none from before that.
      or (e.view_key is null and coalesce(policy_changed_at(e.account_id) > e.since, false))
  from unlisted e cross join member m
  left join bulk_export_patient b on b.export_id = e.base_id and b.patient_id = m.patient_id
  -- Tables serve other purposes than treatment: a patient who opted out is in none.
  where e.view_key is null or not m.hie_opt_out
  returning export_id
)
update bulk_export set patients = (select count(*) from listed) from unlisted where bulk_export.id = unlisted.id
