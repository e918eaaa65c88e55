-- Pairs of patients that may be one person, for a person to decide (docs/decisions/0108-possible-duplicates.md).
CREATE TABLE possible_duplicate (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- The smaller id first, so that a pair has one row.
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  other_patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  grade text NOT NULL CHECK (grade IN ('certain', 'probable', 'possible')),
  score double precision NOT NULL,
  -- Names of what agrees.
  agrees text[] NOT NULL,
  rules_version integer NOT NULL,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'refused')),
  found_at timestamptz(3) NOT NULL DEFAULT now(),
  decided_at timestamptz(3),
  CHECK (patient_id < other_patient_id),
  UNIQUE (patient_id, other_patient_id)
);
CREATE INDEX possible_duplicate_by_account ON possible_duplicate (account_id, found_at, id);
CREATE INDEX possible_duplicate_by_other ON possible_duplicate (other_patient_id);
SELECT guard_account_table('possible_duplicate');

-- A patient whose matching data is new, until it has been compared with the others. As patient_to_match (0049): each change is
-- a row of its own, and there are no foreign keys.
CREATE TABLE patient_to_compare (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT now()
);
SELECT guard_account_table('patient_to_compare');

-- Finds patients by birth date; for dates that differ by a typing error, also by the initials.
CREATE INDEX patient_by_birth_and_initials ON patient
  (account_id, dob, lower(left(last_names[1], 1)), lower(left(first_names[1], 1)));

CREATE FUNCTION note_patient_to_compare() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO patient_to_compare (account_id, patient_id) SELECT account_id, id FROM present;
  ELSE
    INSERT INTO patient_to_compare (account_id, patient_id)
    SELECT present.account_id, present.id FROM present JOIN former USING (id)
    WHERE (present.dob, present.first_names, present.last_names, present.gender, present.addresses, present.contacts,
           present.personal_identifiers)
      IS DISTINCT FROM (former.dob, former.first_names, former.last_names, former.gender, former.addresses, former.contacts,
                        former.personal_identifiers);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER created_patients_are_compared AFTER INSERT ON patient REFERENCING NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_patient_to_compare();
CREATE TRIGGER changed_patients_are_compared AFTER UPDATE ON patient
  REFERENCING NEW TABLE AS present OLD TABLE AS former
  FOR EACH STATEMENT EXECUTE FUNCTION note_patient_to_compare();

-- The patients of before.
INSERT INTO patient_to_compare (account_id, patient_id) SELECT account_id, id FROM patient ORDER BY id;
