-- The keys with which we sign client assertions for sources. Their public halves are published as a JWKS; the private ones
-- are encrypted with the key ring.
CREATE TABLE source_signing_key (
  kid text PRIMARY KEY,
  algorithm text NOT NULL CHECK (algorithm IN ('ES384', 'RS384')),
  public_jwk jsonb NOT NULL,
  -- Null once the key is no longer published.
  private_key bytea,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Published earlier than used, so that servers that cache our JWKS know the key by then.
  signs_from timestamptz(3) NOT NULL,
  -- Null: until it is rotated.
  published_until timestamptz(3)
);

-- Access tokens of sources, encrypted with the key ring and shared by all workers.
CREATE TABLE source_token (
  -- The connection, and what the token is for.
  name text PRIMARY KEY,
  sealed bytea,
  renew_at timestamptz(3),
  ends_at timestamptz(3),
  -- One worker at a time requests a token; if it dies, another one may after this time.
  requested_until timestamptz(3)
);

-- Of the service, not of an account. 0044 opens them to backups, unless it was applied earlier.
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['source_signing_key', 'source_token'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY of_service ON %I TO exchange_system USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO exchange_system', t);
    IF to_regprocedure('open_to_backup(regclass)') IS NOT NULL THEN EXECUTE format('SELECT open_to_backup(%L)', t); END IF;
  END LOOP;
END $$;
