with upcoming as (
  select patient_id from bulk_patient where request_id = :requestId::uuid and sweep_outcome is null
  order by first_row, patient_id limit :ofNext
), passed as (
  update bulk_patient p set sweep_outcome = 'skipped'
  from upcoming left join patient on patient.id = upcoming.patient_id
  where p.request_id = :requestId::uuid and p.patient_id = upcoming.patient_id
    and case when patient.id is null then true
             when patient.hie_opt_out then :optedOut::boolean else :others::boolean end
  returning 1
)
update bulk_sweep set skipped = skipped + (select count(*) from passed) where request_id = :requestId::uuid
