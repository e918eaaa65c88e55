-- A deleted patient leaves no note that it is to be compared, as with patient_to_match (0049).
CREATE INDEX patient_to_compare_by_patient ON patient_to_compare (patient_id);

CREATE FUNCTION delete_patients_to_compare() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM patient_to_compare USING gone WHERE patient_id = gone.id;
  RETURN NULL;
END $$;
CREATE TRIGGER patients_to_compare_go_too AFTER DELETE ON patient REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION delete_patients_to_compare();
DELETE FROM patient_to_compare WHERE NOT EXISTS (SELECT FROM patient WHERE id = patient_id);
