-- Two more foreign keys whose check of each row cost a fifth of a bulk create's time in PostgreSQL
-- (docs/decisions/0015-bulk-rows-in-sets.md). An account is never deleted while it has facilities, and each patient is
-- of one; row-level security writes patients only to the account of the caller. Whom a bulk create touched is noted by
-- the transaction that holds one of its chunks, which refer to it; with the request it goes, as below.
ALTER TABLE patient DROP CONSTRAINT patient_account_id_fkey;
ALTER TABLE bulk_patient DROP CONSTRAINT bulk_patient_request_id_fkey;

CREATE FUNCTION delete_bulk_patients() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM bulk_patient USING gone WHERE request_id = gone.id;
  RETURN NULL;
END $$;
CREATE TRIGGER bulk_patients_go_too AFTER DELETE ON bulk_request REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION delete_bulk_patients();
