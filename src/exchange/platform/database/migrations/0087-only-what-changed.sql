-- For each patient and connection: how the newest complete collection went, so that the next query may ask only for what has
-- changed (docs/decisions/0127-a-second-query-asks-what-is-new.md). The row is taken when a collection begins, and written
-- when it has completed without a gap: no row means that everything is asked for.
CREATE TABLE source_collection (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  -- The id of the account's connection; empty for the one of the environment variables.
  connection text NOT NULL,
  -- What decided which data was asked for: demographics, connection, types (a hash).
  basis text NOT NULL,
  -- The person's Patient ids at the source.
  patient_ids text[] NOT NULL,
  -- When everything was last asked for, and when anything was.
  full_at timestamptz NOT NULL,
  asked_at timestamptz NOT NULL,
  PRIMARY KEY (patient_id, source, connection)
);
SELECT guard_account_table('source_collection');

-- How an attempt, or a connection's part of it, asks: what becomes its row above, and since when if it asks for changes.
ALTER TABLE network_query_attempt ADD COLUMN collection jsonb;
ALTER TABLE network_query_part ADD COLUMN collection jsonb;

-- Whether a server honours a time in `$everything` and in searches by type, as it was found out. By connection, like its
-- breaker; names no person and no account.
CREATE TABLE source_change_check (
  connection text NOT NULL,
  -- What of the connection's settings it was found with.
  fingerprint text NOT NULL,
  -- `everything`, a resource type, or `*` after an answer that was older than asked for
  asked text NOT NULL,
  honoured boolean NOT NULL,
  checked_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (connection, asked)
);
ALTER TABLE source_change_check ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_service ON source_change_check TO exchange_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON source_change_check TO exchange_system;
SELECT open_to_backup('source_change_check');
