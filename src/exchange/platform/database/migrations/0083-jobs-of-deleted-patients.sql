-- Jobs that sources were still working on when their queries were deleted with the patient. The query's workflow, which ends
-- then, cancels them at the source; what it never came to is removed after a day.
CREATE TABLE abandoned_job (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id uuid NOT NULL REFERENCES account,
  query_id uuid NOT NULL,
  source text NOT NULL,
  attempt integer NOT NULL,
  -- Null: the one connection of the environment variables.
  connection_id uuid,
  purpose_of_use text NOT NULL,
  job jsonb NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX abandoned_job_by_attempt ON abandoned_job (query_id, source, attempt);
CREATE INDEX abandoned_job_by_age ON abandoned_job (noted_at);
SELECT guard_account_table('abandoned_job');
