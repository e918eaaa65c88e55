update notification n set
  withdrawn_at = case when f.key is null then coalesce(n.withdrawn_at, now()) end,
  occurred_at = coalesce(f.at, n.occurred_at)
from notification o
  left join json_to_recordset(:facts::json) as f(key text, at timestamptz)
    on f.key = o.fact_key and o.patient_id = :patientId::uuid
where o.id = n.id and n.subject_id = :subjectId
returning n.id, n.withdrawn_at is not null as withdrawn
