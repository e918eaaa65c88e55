-- C-CDA documents converted for people (E14). A day after it was made a rendition goes with its blob: links to it live a
-- minute, and it can be made again.
CREATE TABLE document_rendition (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  document_id uuid NOT NULL REFERENCES document ON DELETE CASCADE,
  format text NOT NULL CHECK (format IN ('html', 'pdf')),
  size_bytes bigint NOT NULL,
  blob_ref text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX document_rendition_by_document ON document_rendition (document_id, format, created_at);
CREATE INDEX document_rendition_by_age ON document_rendition (created_at);
SELECT guard_account_table('document_rendition');
