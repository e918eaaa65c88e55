-- Until when a step itself waits for the source's answer: a callback that comes before that need not
-- signal the workflow. Null: none waits.
ALTER TABLE network_query_attempt ADD COLUMN watched_until timestamptz(3);
