-- Patients of sources that may be ours and were not taken, for a person to decide (docs/decisions/0163-a-person-decides-on-candidates.md).
CREATE TABLE source_candidate (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  -- The source, or the id of one of its connections.
  connection text NOT NULL,
  source text NOT NULL,
  -- The id of the Patient at the source.
  source_patient_id text NOT NULL,
  grade text NOT NULL,
  agrees text[] NOT NULL,
  contradicts text[] NOT NULL,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'refused')),
  found_at timestamptz(3) NOT NULL DEFAULT now(),
  decided_at timestamptz(3),
  UNIQUE (patient_id, connection, source_patient_id)
);
CREATE INDEX source_candidate_by_account ON source_candidate (account_id, found_at, id);
SELECT guard_account_table('source_candidate');
