-- How long each kind of data is kept; a kind without a rule is kept for ever. Set by operators (`npm run admin -- retention`).
CREATE TABLE retention_rule (
  kind text PRIMARY KEY,
  -- Not less than any retry, deadline or link needs.
  days integer NOT NULL CHECK (days >= 30),
  set_at timestamptz NOT NULL DEFAULT now(),
  -- When nothing was left to remove; null: a sweep is due or has begun.
  swept_at timestamptz,
  -- Since the rule exists.
  removed bigint NOT NULL DEFAULT 0
);
ALTER TABLE retention_rule ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON retention_rule TO exchange_system USING (true) WITH CHECK (true);
-- Workers apply the rules, only operators change them.
GRANT SELECT, UPDATE (swept_at, removed) ON retention_rule TO exchange_system;
GRANT INSERT, UPDATE, DELETE ON retention_rule TO exchange_admin;
SELECT open_to_backup('retention_rule');

CREATE INDEX event_ended ON event (opened_at) WHERE copy_of IS NULL AND status IN ('delivered', 'dead', 'unrouted');
CREATE INDEX network_query_timeline_by_age ON network_query_timeline (at) WHERE NOT is_gap;

-- Messages about people who are nobody's patients have no account.
ALTER TABLE erasure ALTER COLUMN account_id DROP NOT NULL;
