-- What came with a message is a document too: of the patient whom the message is about, or of nobody, when the account knows no
-- such person. A source of its own (`message`) in what a record is put together from.
ALTER TABLE document
  ALTER COLUMN query_id DROP NOT NULL,
  ALTER COLUMN patient_id DROP NOT NULL,
  ADD COLUMN message_id uuid REFERENCES message ON DELETE CASCADE,
  -- One of them brought it; what a query brings is always somebody's.
  ADD CHECK (num_nonnulls(query_id, message_id) = 1),
  ADD CHECK (patient_id IS NOT NULL OR message_id IS NOT NULL);
CREATE INDEX document_by_message ON document (message_id) WHERE message_id IS NOT NULL;

-- Its attachments are still to be converted and merged into the patient's record.
ALTER TABLE message ADD COLUMN to_be_read boolean NOT NULL DEFAULT false;
CREATE INDEX message_to_be_read ON message (sent_at) WHERE to_be_read;
