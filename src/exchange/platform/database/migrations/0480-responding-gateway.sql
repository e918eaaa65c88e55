-- What the gateways of networks ask of an account (docs/networks.md, "Answer"): patients (ITI-55), lists of documents (ITI-38), documents
-- (ITI-39). What they are given is what the views of 0203-responder.sql show.

-- An account's membership in a network whose gateways may ask it.
CREATE TABLE network_membership (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 60),
  -- Certificates of the network's authorities, as PEM.
  trusted text NOT NULL,
  -- Our home community, purposes, communities, rates; nothing secret.
  settings jsonb NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  changed_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (account_id, name)
);
SELECT guard_account_table('network_membership');
REVOKE INSERT, UPDATE, DELETE ON network_membership FROM exchange_app;

-- Messages of gateways that were taken, until they have ended by themselves: none is taken twice.
CREATE TABLE network_message (
  membership_id uuid NOT NULL REFERENCES network_membership ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  -- SHA-256 of the message's id, or of its signature.
  key bytea NOT NULL,
  ends_at timestamptz(3) NOT NULL,
  PRIMARY KEY (membership_id, key)
);
CREATE INDEX network_message_by_end ON network_message (ends_at);
SELECT guard_account_table('network_message');
REVOKE UPDATE ON network_message FROM exchange_app;

-- Patient discoveries that are answered later, each by a workflow.
CREATE TABLE deferred_question (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  membership_id uuid NOT NULL REFERENCES network_membership ON DELETE CASCADE,
  -- The home community that asked, and where it wants the answer.
  community text NOT NULL,
  respond_to text NOT NULL,
  -- The question and who asks, encrypted with DATA_KEYS; null once it is answered or given up.
  question bytea,
  asked_at timestamptz(3) NOT NULL DEFAULT now(),
  -- When the answer was first sent, and audited.
  first_sent_at timestamptz(3),
  ended_at timestamptz(3),
  -- Null: under way.
  outcome text CHECK (outcome IN ('delivered', 'failed')),
  workflow_started_at timestamptz(3)
);
CREATE INDEX deferred_question_open ON deferred_question (workflow_started_at NULLS FIRST, asked_at) WHERE outcome IS NULL;
CREATE INDEX deferred_question_of_membership ON deferred_question (membership_id);
SELECT guard_account_table('deferred_question');

-- The SHA-1 of documents, which ITI-38 lists; computed when a document is first listed.
CREATE TABLE document_sha1 (
  document_id uuid PRIMARY KEY REFERENCES document ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  sha1 text NOT NULL
);
SELECT guard_account_table('document_sha1');
