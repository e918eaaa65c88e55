-- Patients into whose records something has arrived without a query, or has been taken out, and which are merged soon
-- (docs/decisions/0390-what-arrives-is-merged.md).
CREATE TABLE record_arrival (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  due_at timestamptz(3) NOT NULL,
  -- How many arrivals were noted: more than when the merge began means that it has to be made again.
  arrivals bigint NOT NULL DEFAULT 1,
  -- Merges that failed one after the other.
  failures integer NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, patient_id)
);
CREATE INDEX record_arrival_due ON record_arrival (due_at);
CREATE INDEX record_arrival_of_patient ON record_arrival (patient_id);
SELECT guard_account_table('record_arrival');
