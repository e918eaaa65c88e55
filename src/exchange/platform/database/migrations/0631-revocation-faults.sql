-- Revocation lists that could not be read the last time: whether the certificates that name them are revoked is not known
-- (docs/decisions/0632-unknown-revocation-is-noted.md).
CREATE TABLE revocation_fault (
  -- The address of the list, as certificates name it.
  address text PRIMARY KEY,
  fault text NOT NULL,
  since timestamptz(3) NOT NULL DEFAULT now(),
  checked_at timestamptz(3) NOT NULL DEFAULT now()
);
ALTER TABLE revocation_fault ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_service ON revocation_fault TO exchange_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON revocation_fault TO exchange_system;
SELECT open_to_backup('revocation_fault');
