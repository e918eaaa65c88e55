-- Findings of `admin ops` about what has happened, such as a query that failed, that an operator has acknowledged: they are left out
-- until something newer happens.
CREATE TABLE acknowledged_finding (
  -- Of `OpsFinding`.
  id text PRIMARY KEY,
  acknowledged_at timestamptz(3) NOT NULL DEFAULT now(),
  acknowledged_by text NOT NULL,
  reason text NOT NULL
);
ALTER TABLE acknowledged_finding ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON acknowledged_finding TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('acknowledged_finding');
GRANT SELECT, INSERT, UPDATE, DELETE ON acknowledged_finding TO exchange_system;

-- Attempts whose calls to their source fail now.
CREATE INDEX network_query_attempt_failing ON network_query_attempt (source, failing_since)
  WHERE status = 'running' AND failing_since IS NOT NULL;

-- Who paused something of an account last, and when, by the audit.
CREATE INDEX audit_entry_pauses ON audit_entry (account_id, target_id, id) WHERE starts_with(operation, 'pause');
CREATE FUNCTION last_pause(of_account uuid, of_operation text, target text) RETURNS TABLE (at timestamptz, actor text)
LANGUAGE sql STABLE AS $$
  SELECT e.at, e.actor FROM audit_entry e
  WHERE e.account_id = of_account AND e.target_id = target AND starts_with(e.operation, 'pause')
    AND e.operation = of_operation AND starts_with(e.outcome, '2')
  ORDER BY e.id DESC LIMIT 1
$$;
