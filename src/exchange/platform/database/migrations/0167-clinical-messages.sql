-- Documents, immunizations, orders, prescriptions and appointments of HL7 v2 messages are recorded and not announced.
ALTER TABLE inbound_subject
  DROP CONSTRAINT inbound_subject_kind_check,
  ADD CONSTRAINT inbound_subject_kind CHECK (kind IN ('encounter', 'pharmacy', 'laboratory', 'clinical')) NOT VALID;
ALTER TABLE inbound_message
  DROP CONSTRAINT inbound_message_kind,
  ADD CONSTRAINT inbound_message_kind
    CHECK (kind IN ('encounter', 'pharmacy', 'laboratory', 'clinical', 'merge', 'person')) NOT VALID;
