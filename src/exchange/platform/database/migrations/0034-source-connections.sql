-- The state of each connection to a source, shared by all workers (docs/decisions/0070-a-breaker-for-each-connection.md).
-- No row: nothing is known against it. The key is opaque; it names no person and no account.
CREATE TABLE source_connection (
  connection text PRIMARY KEY,
  -- Attempts whose calls failed since the source last answered, at most as many as open the breaker.
  failing text[] NOT NULL DEFAULT '{}',
  -- Why the last call failed; without personal data.
  reason text,
  opened_at timestamptz,
  probes integer NOT NULL DEFAULT 0,
  next_probe_at timestamptz,
  paused_at timestamptz,
  paused_by text,
  pause_reason text
);
ALTER TABLE source_connection ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON source_connection TO exchange_system USING (true) WITH CHECK (true);
CREATE POLICY readable ON source_connection FOR SELECT TO exchange_app USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON source_connection TO exchange_system;
GRANT SELECT ON source_connection TO exchange_app;

-- How much of its rates a connection, or the base address that several share, has used. `…_used_until` is the time by which
-- the calls made so far fit the rate (generic cell rate algorithm); `blocked_until` is the source's own word (Retry-After).
CREATE TABLE source_budget (
  target text PRIMARY KEY,
  second_used_until timestamptz NOT NULL DEFAULT '-infinity',
  minute_used_until timestamptz NOT NULL DEFAULT '-infinity',
  blocked_until timestamptz NOT NULL DEFAULT '-infinity'
);
ALTER TABLE source_budget ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON source_budget TO exchange_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON source_budget TO exchange_system;

-- To count the queries that wait for each source.
CREATE INDEX network_query_attempt_waiting ON network_query_attempt (source) WHERE next_try_at IS NOT NULL;
