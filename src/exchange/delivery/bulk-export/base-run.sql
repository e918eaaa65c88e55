select * from bulk_export
where view_key = :key and status = 'completed' and transaction_time <= coalesce(:until::timestamptz, now())
  and (patients = 0 or exists (select from bulk_export_patient m where m.export_id = bulk_export.id))
order by created_at desc limit 1
