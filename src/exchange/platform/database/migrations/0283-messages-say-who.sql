-- What a message says of its person besides name, birth date, gender and zip decides as well whom it is about: a patient whose
-- identifiers, phones or e-mail addresses change is matched with the messages again.
CREATE OR REPLACE FUNCTION note_patient_to_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO patient_to_match (account_id, patient_id) SELECT account_id, id FROM present;
  ELSE
    INSERT INTO patient_to_match (account_id, patient_id)
    SELECT present.account_id, present.id FROM present JOIN former USING (id)
    WHERE (present.dob, present.first_names, present.last_names, present.gender, present.addresses, present.contacts,
           present.personal_identifiers)
      IS DISTINCT FROM (former.dob, former.first_names, former.last_names, former.gender, former.addresses, former.contacts,
                        former.personal_identifiers);
  END IF;
  RETURN NULL;
END $$;

-- Those of whom something was recorded are matched again by today's rules: what a message contradicts leaves their records.
CREATE FUNCTION pg_temp.note_recorded_patients() RETURNS void LANGUAGE sql SET role = exchange_system AS $$
  INSERT INTO patient_to_match (account_id, patient_id)
  SELECT DISTINCT account_id, patient_id FROM recorded_subject WHERE is_about
$$;
SELECT pg_temp.note_recorded_patients();
