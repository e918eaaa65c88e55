-- Whom a subject is about: keyed hashes of first name, birth date and gender, each empty if unknown. Null: not computed yet.
ALTER TABLE inbound_subject ADD COLUMN person_keys bytea[];

-- An event does not count while a person has to decide whether the record has changed hands.
ALTER TABLE inbound_event ADD COLUMN is_held boolean NOT NULL DEFAULT false;

-- `held`: to be decided. `accepted`: decided, and not applied yet. `refused`: decided, and never applied.
ALTER TABLE inbound_message DROP CONSTRAINT inbound_message_outcome_check;
ALTER TABLE inbound_message ADD CONSTRAINT inbound_message_outcome CHECK (outcome IN
  ('matched', 'not-monitored', 'unmatched', 'ambiguous', 'incomplete', 'merged', 'held', 'accepted', 'refused')) NOT VALID;
CREATE INDEX inbound_message_held ON inbound_message (received_at DESC, id) WHERE outcome IN ('held', 'accepted');
