-- Starts of activities whose end is not known yet. A row is written before work on foreign data begins and deleted when the
-- work ends in any way; only the end of the process leaves it. Work that ends its process again and again is given up
-- (docs/decisions/0061-work-that-ends-its-process.md). The name holds opaque ids only.
CREATE TABLE activity_start (
  account_id uuid NOT NULL REFERENCES account,
  work text NOT NULL,
  -- How far the work had come: a start at another place is the first one there.
  progress text NOT NULL,
  starts integer NOT NULL DEFAULT 1,
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, work)
);
CREATE INDEX activity_start_by_age ON activity_start (started_at);
SELECT guard_account_table('activity_start');
