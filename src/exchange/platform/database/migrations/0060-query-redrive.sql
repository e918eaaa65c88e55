-- Redrives: one source of many queries that failed is retried, paced. The row holds the filter, the place and the counts; a
-- query's retry and the step of the place are one transaction, which begins by taking this row.
CREATE TABLE query_redrive (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- Who asked, as in the audit.
  actor text NOT NULL,
  source text NOT NULL CHECK (source IN ('hie', 'pharmacy', 'lab')),
  failed_from timestamptz(3) NOT NULL,
  failed_to timestamptz(3) NOT NULL,
  -- Text within the reason of the failure; null: any reason.
  reason text,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'completed', 'cancelled')),
  -- Matching queries when it began.
  queries integer NOT NULL,
  retried integer NOT NULL DEFAULT 0,
  skipped integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  -- The last query that was examined: when its source failed, and its id.
  after_failed_at timestamptz,
  after_query_id uuid,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  workflow_seen_at timestamptz(3),
  ended_at timestamptz(3)
);
CREATE UNIQUE INDEX query_redrive_open ON query_redrive (account_id, source) WHERE ended_at IS NULL;
SELECT guard_account_table('query_redrive');

-- Which redrive began the run; null for all others.
ALTER TABLE network_query_run ADD COLUMN redrive_id uuid REFERENCES query_redrive;
CREATE INDEX network_query_run_by_redrive ON network_query_run (redrive_id, query_id) WHERE redrive_id IS NOT NULL;
CREATE INDEX network_query_attempt_failed ON network_query_attempt (account_id, source, completed_at, query_id)
  WHERE status = 'failed' AND NOT will_retry;
