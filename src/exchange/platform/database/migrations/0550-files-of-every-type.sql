-- The files of every type of resource are documents, not only those of DocumentReferences (decision 550).
-- What names a document at its source (document.source_document_id, patient_resource.converted_from): the id of its DocumentReference, or
-- `Type/id` of another resource that has the file. An id has no slash. `fileKeyOf` in records/rules/attachments.ts says the same.
CREATE FUNCTION file_key(resource_type text, source_id text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN resource_type = 'DocumentReference' THEN source_id ELSE resource_type || '/' || source_id END;
CREATE FUNCTION file_owner_type(file_key text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN file_key LIKE '%/%' THEN split_part(file_key, '/', 1) ELSE 'DocumentReference' END;
CREATE FUNCTION file_owner_id(file_key text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN file_key LIKE '%/%' THEN split_part(file_key, '/', 2) ELSE file_key END;

-- Whether a retired resource says of a stored document that it was withdrawn.
CREATE FUNCTION says_of_document(r retired_resource) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT r.resource_type = 'DocumentReference' OR EXISTS (
    SELECT FROM document d WHERE d.patient_id = r.patient_id AND d.source = r.source
      AND d.source_document_id = file_key(r.resource_type, r.source_id))
$$;

-- As in 0173, with the files of every type.
CREATE OR REPLACE FUNCTION withheld_resources(account uuid, patient uuid) RETURNS SETOF uuid LANGUAGE plpgsql STABLE ROWS 10 AS $$
DECLARE
  denied text[] := denied_labels(account, patient);
BEGIN
  IF denied = '{}' THEN RETURN; END IF;
  RETURN QUERY
    WITH RECURSIVE delivered AS MATERIALIZED (
      SELECT o.resource_id, o.source, o.resource_type, o.source_id, o.medication_id, p.converted_from,
        is_sensitive(p.content, denied) AS sensitive,
        CASE WHEN o.resource_type IN ('DiagnosticReport', 'Composition', 'List', 'DocumentReference')
          THEN array(SELECT regexp_replace(named #>> '{}', '/_history/.*$', '')
            FROM jsonb_path_query(p.content, 'strict $.**.reference') AS named) END AS named
      FROM record_origin o JOIN patient_resource p USING (patient_id, source, resource_type, source_id)
      WHERE o.patient_id = patient
    ), withheld AS (
      SELECT * FROM delivered d WHERE sensitive OR EXISTS (
        SELECT FROM delivered r WHERE r.sensitive
          AND r.source = d.source AND file_key(r.resource_type, r.source_id) = d.converted_from)
      UNION
      SELECT d.* FROM withheld w JOIN delivered d ON d.resource_id = w.resource_id OR d.source = w.source AND (
        w.resource_type = 'Medication' AND d.medication_id = w.source_id
        OR d.named @> ARRAY[w.resource_type || '/' || w.source_id]
        OR file_key(d.resource_type, d.source_id) = w.converted_from
        OR d.resource_type IN ('DocumentReference', 'Composition') AND d.converted_from = w.converted_from)
    )
    SELECT DISTINCT o.resource_id FROM withheld o WHERE o.resource_id IS NOT NULL AND o.resource_id <> patient;
END $$;

-- As in 0204, with the files of every type.
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
          OR p.resource_type = file_owner_type(d.source_document_id) AND p.source_id = file_owner_id(d.source_document_id))
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

-- As in 0202, with the files of every type.
CREATE OR REPLACE FUNCTION remove_contribution(of_patient uuid, gone uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  named text[] := array(SELECT resource_type || '/' || source_id FROM contributed_resource
    WHERE contribution_id = gone AND patient_id = of_patient);
BEGIN
  DELETE FROM patient_resource WHERE patient_id = of_patient AND source = 'contribution'
    AND (resource_type || '/' || source_id = ANY (named) OR file_owner_type(converted_from) || '/' || file_owner_id(converted_from) = ANY (named));
  DELETE FROM contribution WHERE id = gone AND patient_id = of_patient;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO patient_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, collected_at)
    SELECT DISTINCT ON (r.resource_type, r.source_id)
      r.account_id, of_patient, 'contribution', r.resource_type, r.source_id, r.document_id, r.sha256, r.content, c.created_at
    FROM contributed_resource r JOIN contribution c ON c.id = r.contribution_id
    WHERE r.patient_id = of_patient AND r.resource_type || '/' || r.source_id = ANY (named)
    ORDER BY r.resource_type, r.source_id, r.version DESC, c.created_at DESC, c.id DESC;
  -- The documents that count again are converted again.
  WITH again AS (
    SELECT id, contribution_id FROM document
    WHERE patient_id = of_patient AND source = 'contribution' AND file_owner_type(source_document_id) || '/' || file_owner_id(source_document_id) = ANY (named)
  ), forgotten AS (DELETE FROM document_conversion WHERE document_id IN (SELECT id FROM again))
  UPDATE contribution SET to_be_read = true WHERE id IN (SELECT contribution_id FROM again);
  RETURN true;
END $$;
