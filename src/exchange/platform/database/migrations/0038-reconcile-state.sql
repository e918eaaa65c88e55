-- How far the workflow reconcile has come, to compare with what Temporal knows: if they differ, one of the two was restored
-- from a backup (docs/decisions/0074-after-a-restore.md). One row.
CREATE TABLE reconcile_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  rounds bigint NOT NULL,
  -- When they last differed. Open work whose workflow was last seen before that is looked at again.
  restored_at timestamptz(3)
);
ALTER TABLE reconcile_state ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON reconcile_state TO exchange_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON reconcile_state TO exchange_system;
-- 0044 opens it to backups.
