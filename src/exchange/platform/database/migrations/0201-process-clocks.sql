-- What the clock of each gateway and worker showed when we saw it: one that has gone wrong after the start differs from ours.
CREATE TABLE process_clock (
  process text PRIMARY KEY,
  shown timestamptz(3) NOT NULL,
  seen_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE process_clock ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON process_clock TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('process_clock');
GRANT SELECT, INSERT, UPDATE, DELETE ON process_clock TO exchange_system;
