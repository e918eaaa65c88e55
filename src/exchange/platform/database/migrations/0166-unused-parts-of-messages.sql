-- What an HL7 v2 message contains and we do not use: names of fields and segments (PID-13, NK1), never values. NULL: an older
-- message. For operators (ops).
ALTER TABLE inbound_message ADD COLUMN unused text[];
