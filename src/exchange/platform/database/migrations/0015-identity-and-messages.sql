-- Individual access: who was verified as which patient, and who has shown so again just now.

-- A verification at the identity partner. Past `expires_at` a pending one is expired.
CREATE TABLE identity_session (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  redirect_url text NOT NULL,
  metadata jsonb,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'verified', 'failed')),
  reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3)
);
CREATE INDEX identity_session_by_patient ON identity_session (patient_id);
SELECT guard_account_table('identity_session');

-- A person of whom the partner has said that they are this patient.
CREATE TABLE proofed_identity (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  session_id uuid NOT NULL UNIQUE REFERENCES identity_session ON DELETE CASCADE,
  -- The partner's own id of the person.
  subject text NOT NULL,
  verified_at timestamptz(3) NOT NULL
);
CREATE INDEX proofed_identity_by_patient ON proofed_identity (patient_id);
SELECT guard_account_table('proofed_identity');

-- A proofed identity is asked for two factors again; passed, it has a session until `session_expires_at`.
CREATE TABLE aal2_challenge (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  proofed_identity_id uuid NOT NULL REFERENCES proofed_identity ON DELETE CASCADE,
  redirect_url text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'verified', 'failed')),
  reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  -- Of the session id that its holder shows.
  session_hash bytea UNIQUE,
  session_expires_at timestamptz(3)
);
CREATE INDEX aal2_challenge_by_identity ON aal2_challenge (proofed_identity_id);
SELECT guard_account_table('aal2_challenge');

-- The session under which a query with purpose ias was started. Gone with its identity: then no source is asked any more.
ALTER TABLE network_query ADD COLUMN aal2_challenge_id uuid REFERENCES aal2_challenge ON DELETE SET NULL;
CREATE INDEX network_query_by_challenge ON network_query (aal2_challenge_id) WHERE aal2_challenge_id IS NOT NULL;

-- Messages between providers, in both directions.
CREATE TABLE message (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid REFERENCES patient ON DELETE CASCADE,
  direction text NOT NULL CHECK (direction IN ('outbound', 'inbound')),
  status text NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  transport_method text NOT NULL CHECK (transport_method IN ('xdr', 'direct')),
  network text CHECK (network IN ('EHEX', 'CAREQUALITY', 'COMMONWELL')),
  destination text NOT NULL,
  subject text NOT NULL,
  body text,
  -- Ids of documents of the patient.
  attachments uuid[] NOT NULL DEFAULT '{}',
  intended_recipient_npi text[] NOT NULL DEFAULT '{}',
  reason text,
  -- Hash of the transport partner's own id of an inbound message.
  partner_key bytea,
  -- In milliseconds, as its readers have it.
  sent_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  workflow_started_at timestamptz(3),
  UNIQUE (account_id, partner_key),
  CHECK ((transport_method = 'xdr') = (network IS NOT NULL))
);
CREATE INDEX message_by_account ON message (account_id, sent_at DESC, id);
CREATE INDEX message_by_patient ON message (patient_id, sent_at DESC, id);
CREATE INDEX message_open ON message (sent_at) WHERE direction = 'outbound' AND status = 'processing';
SELECT guard_account_table('message');
