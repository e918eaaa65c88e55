-- The queries that follow a bulk create (querySweep): where it stands. Marks on bulk_patient, counts here and the
-- queries themselves are written in one transaction, which begins by taking the sweep's row.
CREATE TABLE bulk_sweep (
  request_id uuid PRIMARY KEY REFERENCES bulk_request ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'completed', 'cancelled')),
  patients integer NOT NULL,
  started integer NOT NULL DEFAULT 0,
  skipped integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  -- Last sign of life of its workflow.
  seen_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3)
);
CREATE INDEX bulk_sweep_open ON bulk_sweep (seen_at) WHERE ended_at IS NULL;
SELECT guard_account_table('bulk_sweep');

CREATE INDEX bulk_patient_to_sweep ON bulk_patient (request_id, first_row, patient_id) WHERE sweep_outcome IS NULL;
CREATE INDEX bulk_patient_by_query ON bulk_patient (query_id) WHERE query_id IS NOT NULL;
CREATE INDEX network_query_running_bulk ON network_query (account_id, id) WHERE status = 'running' AND origin = 'bulk';
CREATE INDEX bulk_request_to_sweep ON bulk_request (ended_at) WHERE status = 'completed' AND NOT dry_run;
