-- What tells an upload under way, a worker's pace and what is still to do for a bulk create apart.

ALTER TABLE bulk_request
  -- Last sign of life of an upload under way; older than its lease, nothing is under way.
  ADD COLUMN upload_seen_at timestamptz(3),
  -- When the request's workflow was told of the upload; until then it is a thing for `reconcile`.
  ADD COLUMN upload_told_at timestamptz(3),
  -- The uploaded CSV is deleted after its retention; its hash and size stay in `upload`.
  ADD COLUMN upload_deleted_at timestamptz(3),
  -- Time spent on rows: what is over, in milliseconds, and since when it goes on (not while paused or ended).
  ADD COLUMN active_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN active_since timestamptz(3);

CREATE INDEX bulk_request_upload_kept ON bulk_request (ended_at) WHERE upload IS NOT NULL AND upload_deleted_at IS NULL;
