-- Whatever deletes a row that refers to a blob, by itself or with its patient, notes the blob for erasure.
CREATE FUNCTION note_blob_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO erasure (kind, ref, account_id)
  SELECT 'blob', ref, account_id
  FROM (SELECT gone.account_id, coalesce(to_jsonb(gone)->>'blob_ref', to_jsonb(gone)#>>'{result,ref}') AS ref FROM gone) AS refs
  WHERE ref IS NOT NULL
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['document', 'consolidated_query', 'document_rendition'] LOOP
    IF to_regclass(t) IS NOT NULL THEN
      EXECUTE format('CREATE TRIGGER note_blob_erasure AFTER DELETE ON %I REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION note_blob_erasure()', t);
    END IF;
  END LOOP;
  -- What was made of a document goes with it.
  IF to_regclass('document_rendition') IS NOT NULL THEN
    ALTER TABLE document_rendition
      DROP CONSTRAINT document_rendition_document_id_fkey,
      ADD FOREIGN KEY (document_id) REFERENCES document ON DELETE CASCADE;
  END IF;
END $$;
