-- Deliveries that a caller has split from the others they were united with: each stays a resource of its own, however often
-- its source delivers it again, until the split is undone.
CREATE TABLE record_split (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  resource_type text NOT NULL,
  source_id text NOT NULL,
  split_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (patient_id, source, resource_type, source_id)
);
SELECT guard_account_table('record_split');
