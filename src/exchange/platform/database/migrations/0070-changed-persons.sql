-- A sender may report only that its description of a person changed (ADT A31).
ALTER TABLE inbound_message
  DROP CONSTRAINT inbound_message_kind_check,
  ADD CONSTRAINT inbound_message_kind
    CHECK (kind IN ('encounter', 'pharmacy', 'laboratory', 'merge', 'person')) NOT VALID;
