-- A contributed file that may be a C-CDA document under another media type is withheld until it has been read, like XML: it is read within
-- a minute, and its labels are not known before.
CREATE OR REPLACE FUNCTION is_withheld(d document) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  denied text[] := denied_labels(d.account_id, d.patient_id);
BEGIN
  IF denied = '{}' THEN RETURN false; END IF;
  RETURN d.kind = 'page'
    OR EXISTS (
      SELECT FROM patient_resource p LEFT JOIN record_origin o USING (patient_id, source, resource_type, source_id)
      WHERE p.patient_id = d.patient_id AND p.source = d.source
        AND (p.document_id = d.id OR p.converted_from = d.source_document_id
          OR p.resource_type = 'DocumentReference' AND p.source_id = d.source_document_id)
        AND (is_sensitive(p.content, denied)
          OR o.resource_id IN (SELECT withheld_resources(d.account_id, d.patient_id))))
    OR EXISTS (
      SELECT FROM document n WHERE n.patient_id = d.patient_id AND n.source = d.source
        AND n.source_document_id = d.source_document_id AND n.created_at > d.created_at AND n.sha256 <> d.sha256)
    OR NOT coalesce((
      SELECT bool_or(c.outcome IN ('converted', 'not-cda')) FROM document_conversion c JOIN document same ON same.id = c.document_id
      WHERE same.patient_id = d.patient_id AND same.sha256 = d.sha256), d.content_type NOT LIKE '%xml%'
        AND (d.contribution_id IS NULL OR d.content_type NOT IN ('text/plain', 'application/octet-stream')));
END $$;
