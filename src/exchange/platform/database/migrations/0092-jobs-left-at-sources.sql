-- Not only the jobs of deleted patients are kept until they are cancelled at their source, but all whose results nothing will
-- collect. `reconcile` tries those again that the source has not acknowledged.
ALTER TABLE abandoned_job ADD COLUMN tried_at timestamptz(3);
