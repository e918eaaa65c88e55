-- Refusals beyond a few of a kind are counted and stand in one entry; `since` is when the first of them was.
-- `details` is JSON as text, kept byte by byte for the MAC covers it: what an operator says about entries that were lost.
ALTER TABLE audit_entry
  ADD COLUMN times integer NOT NULL DEFAULT 1 CHECK (times > 0),
  ADD COLUMN since timestamptz,
  ADD COLUMN details text;

-- Answers that are kept are sealed, so whom one is about stands beside it: it goes with the patient.
ALTER TABLE idempotency_key ADD COLUMN patient_id uuid;
