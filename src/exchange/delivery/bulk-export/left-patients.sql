select patient_id as id from bulk_export_patient where export_id = :base
except select patient_id from bulk_export_patient where export_id = :id order by id
