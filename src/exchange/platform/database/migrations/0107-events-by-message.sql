-- Retention deletes messages that fit no patient. For each of them PostgreSQL read all rows of this table, to delete those
-- that refer to it.
CREATE INDEX inbound_event_by_message ON inbound_event (message_id);
