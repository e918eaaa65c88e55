-- Messages that arrived before their patient are matched again (docs/decisions/0082-messages-are-matched-again.md).

-- Whom the messages describe: keyed hashes of birth date and zip. NULL: not computed yet.
ALTER TABLE inbound_subject ADD COLUMN match_keys bytea[];
CREATE INDEX inbound_subject_by_match_key ON inbound_subject USING gin (match_keys);
CREATE INDEX inbound_subject_without_match_keys ON inbound_subject (id) WHERE match_keys IS NULL;

-- A patient whose matching data is new; removed once the messages in question have been matched again. Every change is a row
-- of its own, so that nothing is lost when a patient changes while it is worked on. No foreign keys, as in 0004.
CREATE TABLE patient_to_match (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT now(),
  -- The last subject that was matched again, in the order of ids.
  matched_until uuid
);
CREATE INDEX patient_to_match_by_patient ON patient_to_match (patient_id);
SELECT guard_account_table('patient_to_match');

CREATE FUNCTION note_patient_to_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO patient_to_match (account_id, patient_id) SELECT account_id, id FROM present;
  ELSE
    INSERT INTO patient_to_match (account_id, patient_id)
    SELECT present.account_id, present.id FROM present JOIN former USING (id)
    WHERE (present.dob, present.first_names, present.last_names, present.gender, present.addresses)
      IS DISTINCT FROM (former.dob, former.first_names, former.last_names, former.gender, former.addresses);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER created_patients_are_matched AFTER INSERT ON patient REFERENCING NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_patient_to_match();
CREATE TRIGGER changed_patients_are_matched AFTER UPDATE ON patient
  REFERENCING NEW TABLE AS present OLD TABLE AS former
  FOR EACH STATEMENT EXECUTE FUNCTION note_patient_to_match();

CREATE FUNCTION delete_patients_to_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM patient_to_match USING gone WHERE patient_id = gone.id;
  RETURN NULL;
END $$;
CREATE TRIGGER patients_to_match_go_too AFTER DELETE ON patient REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION delete_patients_to_match();
