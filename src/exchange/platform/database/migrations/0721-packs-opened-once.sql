-- What a policy withholds is asked of a whole record: each of its packs (0670) is opened once, not once for each content.

-- All that sources delivered about a patient, as `delivered_resource` has it.
CREATE FUNCTION delivered_about(patient uuid) RETURNS SETOF delivered_resource LANGUAGE sql STABLE AS $$
  WITH opened AS MATERIALIZED (
    SELECT * FROM opened_packs(patient, array(SELECT pack FROM resource_pack WHERE patient_id = patient))
  )
  SELECT r.account_id, r.patient_id, r.source, r.resource_type, r.source_id, r.document_id, r.sha256,
    CASE WHEN r.pack IS NULL THEN r.content ELSE content_in(o.contents, r.place) END,
    r.collected_at, r.revision, r.converted_from, CASE WHEN r.pack IS NULL THEN r.content ELSE r.standing END
  FROM patient_resource r LEFT JOIN opened o USING (pack)
  WHERE r.patient_id = patient
  OFFSET 0
$$;

-- As in 0670.
CREATE OR REPLACE FUNCTION resources_carrying(denied text[], patient uuid) RETURNS SETOF uuid LANGUAGE plpgsql STABLE ROWS 10 AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE delivered AS MATERIALIZED (
      SELECT o.resource_id, o.source, o.resource_type, o.source_id, o.medication_id, p.converted_from,
        is_sensitive(p.content, denied) AS sensitive,
        CASE WHEN o.resource_type IN ('DiagnosticReport', 'Composition', 'List', 'DocumentReference')
          THEN array(SELECT regexp_replace(named #>> '{}', '/_history/.*$', '')
            FROM jsonb_path_query(p.content, 'strict $.**.reference') AS named) END AS named
      FROM record_origin o JOIN delivered_about(patient) p USING (patient_id, source, resource_type, source_id)
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

-- As in 0670, by what is withheld of the patient's record (`withheld_resources`): for several documents that is found out once.
CREATE FUNCTION is_withheld(d document, withheld uuid[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  denied text[] := denied_labels(d.account_id, d.patient_id);
BEGIN
  IF denied = '{}' THEN RETURN false; END IF;
  RETURN d.kind = 'page'
    OR EXISTS (
      WITH brought AS MATERIALIZED (
        SELECT p.content, p.pack, p.place, o.resource_id
        FROM patient_resource p LEFT JOIN record_origin o USING (patient_id, source, resource_type, source_id)
        WHERE p.patient_id = d.patient_id AND p.source = d.source
          AND (p.document_id = d.id OR p.converted_from = d.source_document_id
            OR p.resource_type = file_owner_type(d.source_document_id) AND p.source_id = file_owner_id(d.source_document_id))
      ), opened AS MATERIALIZED (
        SELECT * FROM opened_packs(d.patient_id, array(SELECT DISTINCT pack FROM brought WHERE pack IS NOT NULL))
      )
      SELECT FROM brought b LEFT JOIN opened o USING (pack)
      WHERE b.resource_id = ANY (withheld)
        OR is_sensitive(CASE WHEN b.pack IS NULL THEN b.content ELSE content_in(o.contents, b.place) END, denied))
    OR EXISTS (
      SELECT FROM document n WHERE n.patient_id = d.patient_id AND n.source = d.source
        AND n.source_document_id = d.source_document_id AND n.created_at > d.created_at AND n.sha256 <> d.sha256)
    OR NOT coalesce((
      SELECT bool_or(c.outcome IN ('converted', 'not-cda')) FROM document_conversion c JOIN document same ON same.id = c.document_id
      WHERE same.patient_id = d.patient_id AND same.sha256 = d.sha256), d.content_type NOT LIKE '%xml%'
        AND (d.contribution_id IS NULL OR d.content_type NOT IN ('text/plain', 'application/octet-stream')));
END $$;
CREATE OR REPLACE FUNCTION is_withheld(d document) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT is_withheld(d, array(SELECT withheld_resources(d.account_id, d.patient_id)))
$$;
CREATE FUNCTION responder.is_withheld(d responder.document, withheld uuid[]) RETURNS boolean
LANGUAGE sql STABLE SET role = exchange_system SET search_path = responder, public AS $$
  SELECT is_withheld(stored, withheld) FROM public.document stored WHERE stored.id = d.id
$$;
