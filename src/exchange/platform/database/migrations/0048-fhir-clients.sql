-- Programs that read the FHIR API with tokens of their own (SMART Backend Services).
CREATE TABLE fhir_client (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  label text,
  -- Public keys, or where the client publishes them.
  jwks jsonb,
  jwks_url text,
  scopes text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz,
  CHECK ((jwks IS NULL) <> (jwks_url IS NULL))
);
CREATE INDEX fhir_client_by_account ON fhir_client (account_id);
SELECT guard_account_table('fhir_client');
-- Registered and revoked by operators only.
REVOKE INSERT, UPDATE, DELETE ON fhir_client FROM exchange_system;
REVOKE ALL ON fhir_client FROM exchange_app;
GRANT INSERT, UPDATE ON fhir_client TO exchange_admin;

-- Assertions that were used, until they expire.
CREATE TABLE fhir_client_assertion (
  client_id uuid NOT NULL REFERENCES fhir_client,
  account_id uuid NOT NULL REFERENCES account,
  -- SHA-256 of the assertion's id.
  jti_hash bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (client_id, jti_hash)
);
SELECT guard_account_table('fhir_client_assertion');
REVOKE ALL ON fhir_client_assertion FROM exchange_app;
