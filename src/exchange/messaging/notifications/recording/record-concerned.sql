insert into recorded_subject as r (account_id, patient_id, subject_id, is_about)
select :accountId::uuid, patient_id, :subjectId::uuid, patient_id is not distinct from :patientId::uuid
from (select patient_id from notification where subject_id = :subjectId
  union select patient_id from recorded_subject where subject_id = :subjectId
  union select :patientId::uuid where :isRecorded) as concerned
on conflict (patient_id, subject_id) do update
  set is_about = excluded.is_about, wanted = r.wanted + 1, changed_at = now()
  where r.is_about or excluded.is_about
returning patient_id as "patientId", subject_id as "subjectId"
