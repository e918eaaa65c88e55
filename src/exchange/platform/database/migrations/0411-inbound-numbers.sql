-- The numbers by which messages name a subject: a report names its order, a susceptibility the report of its organism
-- (docs/decisions/0411-joined-by-number.md). Rows hold keyed hashes only.
CREATE TABLE inbound_number (
  subject_id uuid NOT NULL REFERENCES inbound_subject ON DELETE CASCADE,
  sender text NOT NULL,
  -- Of the kind of number, and the number without the authority that assigned it.
  number_key bytea NOT NULL,
  -- Of that authority; empty where the message names none.
  authority_key bytea NOT NULL,
  -- It identifies the subject, is one of its numbers, or is that of a subject that it refers to.
  role text NOT NULL CHECK (role IN ('identifies', 'own', 'refers')),
  PRIMARY KEY (subject_id, number_key, authority_key, role)
);
CREATE INDEX inbound_number_by_number ON inbound_number (sender, number_key);
ALTER TABLE inbound_number ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON inbound_number TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('inbound_number');
GRANT SELECT, INSERT, UPDATE, DELETE ON inbound_number TO exchange_system;
