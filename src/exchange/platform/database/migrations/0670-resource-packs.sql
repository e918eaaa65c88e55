-- Contents of a record's resources may lie together in packs, where they are compressed together (decision 670). Nothing is packed
-- by this migration.

-- Contents that lie together, as an array. One that nothing refers to any more is null: what is deleted is nowhere.
CREATE TABLE resource_pack (
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  pack integer NOT NULL,
  contents jsonb NOT NULL,
  PRIMARY KEY (patient_id, pack)
);
SELECT guard_account_table('resource_pack');

-- The content is in the row, or at a place (from 0) in a pack of the patient. `standing`: of a content in a pack, what statements ask of
-- resources with documents (`standing_of`); null if there is nothing of it.
ALTER TABLE patient_resource
  ALTER COLUMN content DROP NOT NULL,
  ADD COLUMN pack integer,
  ADD COLUMN place smallint,
  ADD COLUMN standing jsonb,
  ADD CONSTRAINT content_is_somewhere CHECK (num_nonnulls(content, pack) = 1 AND (pack IS NULL) = (place IS NULL)) NOT VALID;
ALTER TABLE retired_resource
  ALTER COLUMN content DROP NOT NULL,
  ADD COLUMN pack integer,
  ADD COLUMN place smallint,
  ADD CONSTRAINT content_is_somewhere CHECK (num_nonnulls(content, pack) = 1 AND (pack IS NULL) = (place IS NULL)) NOT VALID;

-- Whether a resource, and with it its document, is withdrawn or replaced, and which others it replaces. Null: nothing of that.
CREATE FUNCTION standing_of(content jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT nullif(jsonb_strip_nulls(jsonb_build_object(
    'status', CASE WHEN content ->> 'status' IN ('superseded', 'entered-in-error') THEN content -> 'status' END,
    'docStatus', CASE WHEN content ->> 'docStatus' = 'entered-in-error' THEN content -> 'docStatus' END,
    'relatesTo', content -> 'relatesTo')), '{}')
$$;

-- A content that is not where its row says must not be read as if there were none.
CREATE FUNCTION missing_content(place integer) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RAISE EXCEPTION 'The content of a delivery is not where its row says (place % of its pack)', place USING ERRCODE = 'data_corrupted';
END $$;
CREATE FUNCTION content_in(contents jsonb, place integer) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(contents -> place, 'null'), missing_content(place))
$$;

-- What sources delivered, wherever its content is. Statements read contents here, a few at a time: each opens its pack by itself.
CREATE VIEW delivered_resource WITH (security_invoker) AS
  SELECT account_id, patient_id, source, resource_type, source_id, document_id, sha256,
    CASE WHEN pack IS NULL THEN content ELSE content_in((
      SELECT p.contents FROM resource_pack p WHERE p.patient_id = r.patient_id AND p.pack = r.pack), r.place) END AS content,
    collected_at, revision, converted_from, CASE WHEN pack IS NULL THEN content ELSE standing END AS standing
  FROM patient_resource r;
GRANT SELECT ON delivered_resource TO exchange_app, exchange_system;

-- Packs to read many contents of: each is opened once. (With the concatenation it is a value in memory; without it, each content that is
-- taken from it would decompress it again.) To be materialized by the statement.
CREATE FUNCTION opened_packs(patient uuid, packs integer[]) RETURNS TABLE (pack integer, contents jsonb) LANGUAGE sql STABLE AS $$
  SELECT p.pack, p.contents || '[]' FROM resource_pack p WHERE p.patient_id = patient AND p.pack = ANY (packs)
$$;

-- All that a source delivered about a patient, or all of a type, as `delivered_resource` has it.
CREATE FUNCTION delivered_by(of_source text, patient uuid, of_type text DEFAULT NULL) RETURNS SETOF delivered_resource LANGUAGE sql STABLE AS $$
  WITH opened AS MATERIALIZED (
    SELECT * FROM opened_packs(patient, array(
      SELECT DISTINCT pack FROM patient_resource
      WHERE patient_id = patient AND source = of_source AND (of_type IS NULL OR resource_type = of_type) AND pack IS NOT NULL))
  )
  SELECT r.account_id, r.patient_id, r.source, r.resource_type, r.source_id, r.document_id, r.sha256,
    CASE WHEN r.pack IS NULL THEN r.content ELSE content_in(o.contents, r.place) END,
    r.collected_at, r.revision, r.converted_from, CASE WHEN r.pack IS NULL THEN r.content ELSE r.standing END
  FROM patient_resource r LEFT JOIN opened o USING (pack)
  WHERE r.patient_id = patient AND r.source = of_source AND (of_type IS NULL OR r.resource_type = of_type)
  -- Contents are taken out of their packs here, so that no pack is sorted with each row.
  OFFSET 0
$$;

-- What was contributed is not packed: it is little, and held by its contribution as well.
CREATE OR REPLACE VIEW responder.patient_resource WITH (security_barrier) AS
  SELECT r.account_id, r.patient_id, r.source, r.resource_type, r.source_id, r.document_id, r.sha256,
    responder.without_ssn(r.content) AS content, r.collected_at, r.revision, r.converted_from, r.pack, r.place, r.standing
  FROM public.patient_resource r
  WHERE r.source = 'contribution' AND r.patient_id IN (SELECT id FROM responder.patient);
CREATE OR REPLACE VIEW responder.retired_resource AS SELECT * FROM public.retired_resource WHERE false;
CREATE VIEW responder.resource_pack AS SELECT * FROM public.resource_pack WHERE false;
CREATE VIEW responder.delivered_resource WITH (security_barrier) AS
  SELECT account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, collected_at, revision, converted_from,
    content AS standing
  FROM responder.patient_resource;
GRANT SELECT ON responder.resource_pack, responder.delivered_resource TO exchange_responder, exchange_system;

-- As in 0551, wherever contents are.
CREATE OR REPLACE FUNCTION resources_carrying(denied text[], patient uuid) RETURNS SETOF uuid LANGUAGE plpgsql STABLE ROWS 10 AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE delivered AS MATERIALIZED (
      SELECT o.resource_id, o.source, o.resource_type, o.source_id, o.medication_id, p.converted_from,
        is_sensitive(p.content, denied) AS sensitive,
        CASE WHEN o.resource_type IN ('DiagnosticReport', 'Composition', 'List', 'DocumentReference')
          THEN array(SELECT regexp_replace(named #>> '{}', '/_history/.*$', '')
            FROM jsonb_path_query(p.content, 'strict $.**.reference') AS named) END AS named
      FROM record_origin o JOIN delivered_resource p USING (patient_id, source, resource_type, source_id)
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

-- As in 0550, wherever contents are.
CREATE OR REPLACE FUNCTION is_withheld(d document) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  denied text[] := denied_labels(d.account_id, d.patient_id);
BEGIN
  IF denied = '{}' THEN RETURN false; END IF;
  RETURN d.kind = 'page'
    OR EXISTS (
      SELECT FROM delivered_resource p LEFT JOIN record_origin o USING (patient_id, source, resource_type, source_id)
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

-- As in 0591, wherever contents are.
CREATE OR REPLACE FUNCTION known_when_asking(account uuid, patient uuid, of_source text, by_connection text, files_max integer)
RETURNS TABLE (last jsonb, held jsonb, decided jsonb, files jsonb)
LANGUAGE plpgsql STABLE SET role = exchange_app AS $$
BEGIN
  PERFORM set_config('app.account_id', account::text, true);
  SELECT to_jsonb(c) INTO last FROM source_collection AS c
    WHERE c.patient_id = patient AND c.source = of_source AND c.connection = by_connection;
  IF last IS NOT NULL THEN
    SELECT jsonb_agg(jsonb_build_array(r.resource_type, r.source_id, r.content->'meta'->>'lastUpdated')
      ORDER BY r.revision DESC, r.source_id)
    INTO held FROM delivered_by(of_source, patient) AS r
      WHERE r.converted_from IS NULL;
  END IF;
  SELECT jsonb_agg(jsonb_build_array(s.connection, s.source_patient_id, s.status)) INTO decided
    FROM source_candidate AS s WHERE s.patient_id = patient AND s.status <> 'open';
  SELECT jsonb_agg(jsonb_build_array(encode(d.sha256, 'hex'), d.blob_ref) ORDER BY d.created_at DESC) INTO files
    FROM (
      SELECT sha256, blob_ref, created_at FROM document
      WHERE patient_id = patient AND source = of_source AND query_id IS NOT NULL
      ORDER BY created_at DESC LIMIT files_max
    ) AS d;
  RETURN NEXT;
END $$;
