-- Trust bundles of Direct: whom the accounts that name them trust. A bundle belongs to whoever publishes it and not to an account
-- (docs/decisions/0631-trust-bundles-keep-the-last-good-one.md).
CREATE TABLE trust_bundle (
  name text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  -- An address, or a file that workers can read.
  origin text NOT NULL,
  refresh_hours integer NOT NULL CHECK (refresh_hours BETWEEN 1 AND 720),
  -- PEM of who must have signed it; null: it need not be signed.
  signed_by text,
  -- PEM of its anchors, of the last time that it could be read; null before the first.
  anchors text,
  -- What was found then: counts, and the certificates that were refused with the reasons.
  counts jsonb,
  refused jsonb NOT NULL DEFAULT '[]',
  loaded_at timestamptz(3),
  -- Why it could not be read the last time.
  fault text,
  checked_at timestamptz(3),
  changed_at timestamptz(3) NOT NULL DEFAULT now()
);
ALTER TABLE trust_bundle ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_service ON trust_bundle TO exchange_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON trust_bundle TO exchange_system;
SELECT open_to_backup('trust_bundle');
