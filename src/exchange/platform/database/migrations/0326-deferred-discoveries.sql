-- Patient discoveries that a gateway answers later, and their answers, which nothing else has
-- (docs/decisions/0327-a-deferred-answer-is-taken-by-asking.md).
CREATE TABLE deferred_discovery (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  -- The source, or the id of one of its connections.
  connection text NOT NULL,
  -- The attempt that asked, and the same as one key.
  query_id uuid NOT NULL,
  source text NOT NULL,
  attempt integer NOT NULL,
  run integer NOT NULL,
  asked_by text NOT NULL,
  -- By these two an answer is told.
  message_id text NOT NULL,
  discovery_id text NOT NULL,
  asked_at timestamptz(3) NOT NULL DEFAULT now(),
  answered_at timestamptz(3),
  -- The message, encrypted with DATA_KEYS.
  answer bytea,
  -- The attempt that has taken the answer; `discarded` when it was of no use.
  used_by text
);
CREATE INDEX deferred_discovery_of_patient ON deferred_discovery (patient_id, connection);
SELECT guard_account_table('deferred_discovery');
