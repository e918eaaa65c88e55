-- What a key is called and may do. Keys from before this were allowed everything, and still are.
ALTER TABLE api_key
  ADD COLUMN label text,
  ADD COLUMN scopes text[] NOT NULL DEFAULT '{read,write,webhooks-admin}'
    CHECK (cardinality(scopes) > 0 AND scopes <@ '{read,write,webhooks-admin}'::text[]);
CREATE INDEX api_key_by_account ON api_key (account_id);
-- Keys are made by the admin CLI and by seeding, which are the system; no account makes one for itself.
REVOKE INSERT, UPDATE, DELETE ON api_key FROM exchange_app;

-- The chain of an account's audit: a row gets its place and its MAC, which covers the MAC of the row before it, a moment
-- after it was committed. Rows are chained as they are found, not by id: a transaction may commit later than another
-- that began after it.
ALTER TABLE audit_entry
  ADD COLUMN position bigint,
  ADD COLUMN mac bytea,
  ADD CHECK ((position IS NULL) = (mac IS NULL));
CREATE UNIQUE INDEX audit_entry_chain ON audit_entry (account_id, position) WHERE position IS NOT NULL;
CREATE INDEX audit_entry_unsealed ON audit_entry (account_id, id) WHERE position IS NULL;

-- The end of each chain. Whoever seals holds the row, so an account's chain grows at one place only.
CREATE TABLE audit_head (
  account_id uuid PRIMARY KEY REFERENCES account,
  position bigint NOT NULL,
  mac bytea NOT NULL,
  sealed_at timestamptz NOT NULL DEFAULT now()
);
SELECT guard_account_table('audit_head');
REVOKE INSERT, UPDATE, DELETE ON audit_head FROM exchange_app;

-- Append-only for the system too, but for sealing.
REVOKE UPDATE, DELETE ON audit_entry FROM exchange_system;
GRANT UPDATE (position, mac) ON audit_entry TO exchange_system;
