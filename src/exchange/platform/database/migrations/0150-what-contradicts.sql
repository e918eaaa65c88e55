-- What speaks for two people in a pair that may be one person: another SSN, licence, generation or gender.
ALTER TABLE possible_duplicate ADD COLUMN contradicts text[] NOT NULL DEFAULT '{}';

-- Finds patients who have an SSN or licence in common, whatever their names and birth dates are.
CREATE INDEX patient_by_identifier ON patient USING gin (personal_identifiers jsonb_path_ops)
  WHERE personal_identifiers <> '[]'::jsonb;
