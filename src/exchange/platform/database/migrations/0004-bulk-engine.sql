-- A dry run writes no patient, but knows whom its rows would have created: identity keys with the person that would
-- hold them, a patient of the account or (first_row set) one that would be new. Gone when the result is joined.
CREATE TABLE bulk_trial_key (
  request_id uuid NOT NULL REFERENCES bulk_request ON DELETE CASCADE,
  key bytea NOT NULL,
  account_id uuid NOT NULL,
  person_id uuid NOT NULL,
  first_row integer,
  PRIMARY KEY (request_id, key)
);
SELECT guard_account_table('bulk_trial_key');

CREATE INDEX bulk_chunk_open ON bulk_chunk (request_id, chunk) WHERE completed_at IS NULL;

-- Without foreign keys, whose check of each row costs a third of a bulk create's time in PostgreSQL
-- (docs/decisions/0015-bulk-rows-in-sets.md). Keys are only written by a transaction that has just inserted their
-- patient or holds its row; with the patient they go, as below. A bulk create's account is that of its request.
ALTER TABLE patient_identity_key
  DROP CONSTRAINT patient_identity_key_account_id_fkey,
  DROP CONSTRAINT patient_identity_key_patient_id_fkey;
ALTER TABLE bulk_patient DROP CONSTRAINT bulk_patient_account_id_fkey;

CREATE FUNCTION delete_identity_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM patient_identity_key USING gone WHERE patient_id = gone.id;
  RETURN NULL;
END $$;
CREATE TRIGGER patient_keys_go_too AFTER DELETE ON patient REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION delete_identity_keys();
