-- What sources tell of people unasked: admissions, fills, results. A sender does not know our accounts, so its messages
-- and what they are about stand outside of them, for the service itself only, and name nobody: ids of the sender are
-- kept as keyed hashes, the messages as they came are encrypted blobs. What an account is told is a row of its own.

-- One encounter, fill or result of a sender, as all messages about it make it.
CREATE TABLE inbound_subject (
  id uuid PRIMARY KEY,
  sender text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('encounter', 'pharmacy', 'laboratory')),
  source_key bytea NOT NULL,
  -- Of the newest message: whose record it stood under at the sender.
  record_key bytea,
  state jsonb,
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (sender, kind, source_key)
);
CREATE INDEX inbound_subject_by_record ON inbound_subject (sender, record_key);

-- One message, once by its sender and the sender's own id of it.
CREATE TABLE inbound_message (
  id uuid PRIMARY KEY,
  sender text NOT NULL,
  message_key bytea NOT NULL,
  format text NOT NULL CHECK (format IN ('hl7v2', 'fhir')),
  kind text NOT NULL CHECK (kind IN ('encounter', 'pharmacy', 'laboratory', 'merge')),
  trigger text NOT NULL,
  recorded_at timestamptz(3) NOT NULL,
  sent_at timestamptz(3),
  received_at timestamptz(3) NOT NULL DEFAULT now(),
  content jsonb NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('matched', 'not-monitored', 'unmatched', 'ambiguous', 'incomplete', 'merged')),
  UNIQUE (sender, message_key)
);
CREATE INDEX inbound_message_unmatched ON inbound_message (received_at DESC, id)
  WHERE outcome IN ('unmatched', 'ambiguous', 'incomplete');

-- What a message tells of a subject.
CREATE TABLE inbound_event (
  subject_id uuid NOT NULL REFERENCES inbound_subject ON DELETE CASCADE,
  message_id uuid NOT NULL REFERENCES inbound_message ON DELETE CASCADE,
  record_key bytea,
  -- Whether the message describes a person well enough to find them.
  describes_person boolean NOT NULL,
  content jsonb NOT NULL,
  PRIMARY KEY (subject_id, message_id)
);

-- A sender's record was merged into another one.
CREATE TABLE inbound_merge (
  message_id uuid PRIMARY KEY REFERENCES inbound_message ON DELETE CASCADE,
  sender text NOT NULL,
  prior_key bytea NOT NULL,
  surviving_key bytea NOT NULL,
  recorded_at timestamptz(3) NOT NULL
);
CREATE INDEX inbound_merge_by_prior ON inbound_merge (sender, prior_key);
CREATE INDEX inbound_merge_by_surviving ON inbound_merge (sender, surviving_key);

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['inbound_subject', 'inbound_message', 'inbound_event', 'inbound_merge'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY service_only ON %I TO exchange_system USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO exchange_system', t);
  END LOOP;
END $$;

-- Whom a message may be about, over all accounts: date of birth and the zip of the primary address.
CREATE INDEX patient_by_birth_and_zip ON patient (dob, left(addresses -> 0 ->> 'zip', 5));

-- A fact that an account is told about one of its patients, once.
CREATE TABLE notification (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  subject_id uuid NOT NULL REFERENCES inbound_subject ON DELETE CASCADE,
  type text NOT NULL,
  fact_key text NOT NULL,
  sender text NOT NULL,
  occurred_at timestamptz(3),
  sent_at timestamptz(3),
  told_at timestamptz(3) NOT NULL DEFAULT now(),
  -- The source has taken it back, or it was about somebody else.
  withdrawn_at timestamptz(3),
  UNIQUE (patient_id, subject_id, fact_key)
);
CREATE INDEX notification_by_account ON notification (account_id, told_at DESC, id);
CREATE INDEX notification_by_patient ON notification (patient_id, told_at DESC, id);
CREATE INDEX notification_by_subject ON notification (subject_id);
SELECT guard_account_table('notification');

-- After a discharge the hie source is asked again until it has something new.
CREATE TABLE discharge_follow_up (
  notification_id uuid PRIMARY KEY REFERENCES notification ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'new-data', 'no-new-data', 'cancelled')),
  reason text,
  rounds integer NOT NULL DEFAULT 0,
  query_ids uuid[] NOT NULL DEFAULT '{}',
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3),
  workflow_started_at timestamptz(3)
);
-- Not more than one open for each patient.
CREATE UNIQUE INDEX discharge_follow_up_open ON discharge_follow_up (patient_id) WHERE state = 'open';
CREATE INDEX discharge_follow_up_to_ensure ON discharge_follow_up (started_at) WHERE state = 'open';
SELECT guard_account_table('discharge_follow_up');
