-- A query writes some two thousand rows here. Each was checked against its account although it is checked against its patient,
-- and a patient is of one account; row-level security writes rows only to the account of the caller. The check of the patient
-- stays: it keeps rows from outliving their patient.
ALTER TABLE patient_resource DROP CONSTRAINT patient_resource_account_id_fkey;
ALTER TABLE record_origin DROP CONSTRAINT record_origin_account_id_fkey;
ALTER TABLE record_key DROP CONSTRAINT record_key_account_id_fkey;
ALTER TABLE record_resource DROP CONSTRAINT record_resource_account_id_fkey;

-- No statement looks for keys by the resource that owns them.
DROP INDEX record_key_by_resource;
