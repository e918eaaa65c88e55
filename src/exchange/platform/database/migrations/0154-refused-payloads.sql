-- What was refused because it stood in Temporal without our encryption. Contains types and names of workflow code, never input.
CREATE TABLE refused_payload (
  what text PRIMARY KEY,
  times bigint NOT NULL DEFAULT 1,
  first_at timestamptz(3) NOT NULL DEFAULT now(),
  last_at timestamptz(3) NOT NULL DEFAULT now()
);
ALTER TABLE refused_payload ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON refused_payload TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('refused_payload');
GRANT SELECT, INSERT, UPDATE, DELETE ON refused_payload TO exchange_system;
