-- A message is known by its sender, the sender's id of it and what it says: counters begin anew, and two applications behind
-- one sender may use the same numbers. message_key stands for all three, control_key for the id alone.
ALTER TABLE inbound_message
  -- NULL: an older message.
  ADD COLUMN control_key bytea,
  -- An earlier message of the sender has the same id, and says something else.
  ADD COLUMN is_number_reused boolean NOT NULL DEFAULT false;
CREATE INDEX inbound_message_by_control ON inbound_message (sender, control_key) WHERE control_key IS NOT NULL;
