-- What messages report becomes part of patients' records (docs/decisions/0105-what-a-message-reports-becomes-record.md).

-- IANA time zone of the sender's times without an offset, as configured when the message arrived. NULL: an older message.
ALTER TABLE inbound_message ADD COLUMN time_zone text;

-- A subject (encounter, fill, result) of which an account was notified, and how far the patient's record follows it.
CREATE TABLE recorded_subject (
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  subject_id uuid NOT NULL REFERENCES inbound_subject ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  -- False: the sender has since reported that the subject is about another person.
  is_about boolean NOT NULL,
  -- Raised by each message that may change what is recorded; `recorded` follows.
  wanted integer NOT NULL DEFAULT 1,
  recorded integer NOT NULL DEFAULT 0,
  -- Its C-CDA documents are still to be converted.
  to_be_read boolean NOT NULL DEFAULT false,
  changed_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (patient_id, subject_id)
);
CREATE INDEX recorded_subject_by_subject ON recorded_subject (subject_id);
CREATE INDEX recorded_subject_to_record ON recorded_subject (changed_at) WHERE wanted > recorded OR to_be_read;
SELECT guard_account_table('recorded_subject');

-- What accounts were notified of before is recorded too.
INSERT INTO recorded_subject (patient_id, subject_id, account_id, is_about)
SELECT DISTINCT patient_id, subject_id, account_id, true FROM notification WHERE withdrawn_at IS NULL;

-- A document is delivered by a query, a message between providers, or a notification: then by its subject, and `delivery` is
-- the value of `wanted` that it was recorded for.
ALTER TABLE document
  ADD COLUMN subject_id uuid REFERENCES inbound_subject ON DELETE CASCADE,
  ADD COLUMN delivery integer,
  DROP CONSTRAINT document_check,
  ADD CONSTRAINT document_delivered_once CHECK (num_nonnulls(query_id, message_id, subject_id) = 1) NOT VALID,
  ADD CONSTRAINT document_delivery CHECK ((subject_id IS NULL) = (delivery IS NULL)) NOT VALID;
CREATE INDEX document_by_subject ON document (subject_id) WHERE subject_id IS NOT NULL;

ALTER TABLE retired_resource
  ALTER COLUMN query_id DROP NOT NULL,
  ALTER COLUMN attempt DROP NOT NULL,
  ADD COLUMN subject_id uuid,
  ADD CONSTRAINT retired_by_one CHECK (num_nonnulls(query_id, subject_id) = 1) NOT VALID;
