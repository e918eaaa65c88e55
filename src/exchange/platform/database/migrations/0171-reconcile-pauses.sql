-- The parts of reconcile that an operator has paused. Read in every round, so a pause outlives workers, runs and restarts.
-- No row: not paused.
CREATE TABLE reconcile_pause (
  part text PRIMARY KEY CHECK (part IN ('deleting', 'healing')),
  paused_at timestamptz(3) NOT NULL DEFAULT now(),
  paused_by text NOT NULL,
  reason text NOT NULL
);
ALTER TABLE reconcile_pause ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON reconcile_pause TO exchange_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON reconcile_pause TO exchange_system;
SELECT open_to_backup('reconcile_pause');
