-- The failed calls of an attempt at its source: how many in a row, since when, and until when and why the attempt waits
-- before it calls again. All are reset when the source answers.
ALTER TABLE network_query_attempt
  ADD COLUMN failed_calls integer NOT NULL DEFAULT 0,
  ADD COLUMN failing_since timestamptz,
  ADD COLUMN waiting_for text,
  ADD COLUMN next_try_at timestamptz;
