-- What networks may read (docs/contribution.md, "What networks are given"): a schema of views that hold what the account contributed and
-- nothing that was retrieved from others, and a role that has no right to anything else. The FHIR API reads for networks as that role,
-- with this schema first in its path, so each statement of it finds these views in place of the tables. A table without a view cannot be read.

-- True: the client is of a network. It reads at the responder only; its label is the network's name.
ALTER TABLE fhir_client ADD COLUMN is_network boolean NOT NULL DEFAULT false;

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'exchange_responder') THEN
    BEGIN
      CREATE ROLE exchange_responder NOLOGIN NOSUPERUSER NOBYPASSRLS;
    EXCEPTION
      WHEN duplicate_object OR unique_violation THEN NULL;
      WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'The role exchange_responder does not exist, and this login may not create it' USING HINT =
          'Run as an administrator: CREATE ROLE exchange_responder NOLOGIN; GRANT exchange_responder TO exchange_app WITH INHERIT FALSE;';
    END;
  END IF;
  BEGIN
    -- Who may act for an account may take this role, and inherits none of it.
    GRANT exchange_responder TO exchange_app WITH INHERIT FALSE, SET TRUE;
  EXCEPTION
    WHEN unique_violation OR SQLSTATE 'XX000' THEN NULL;
    WHEN insufficient_privilege THEN
      IF NOT pg_has_role('exchange_app', 'exchange_responder', 'SET') THEN RAISE; END IF;
  END;
END $$;

CREATE SCHEMA responder;
GRANT USAGE ON SCHEMA responder TO exchange_responder, exchange_system;

-- The sources that consents of a patient in force now exclude for a purpose, as a list for each consent; an empty one: all sources. A
-- permit lifts no denial.
CREATE FUNCTION denied_sources(of_patient uuid, for_purpose text) RETURNS SETOF text[]
LANGUAGE sql STABLE SET role = exchange_system SET search_path = public AS $$
  SELECT sources FROM consent
  WHERE account_id = current_setting('app.account_id')::uuid AND patient_id = of_patient AND decision = 'deny' AND labels = '{}'
    AND ended_at IS NULL AND coalesce(period_start <= now(), true) AND coalesce(period_end > now(), true)
    AND (purposes = '{}' OR for_purpose = ANY (purposes))
$$;

-- Patients of whom something was contributed and who let networks see it: they deny no exchange with networks (hie).
-- Social security numbers do not leave by this door.
CREATE FUNCTION responder.without_ssn(content jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN jsonb_typeof(content -> 'identifier') = 'array' THEN jsonb_set(content, '{identifier}', coalesce((
    SELECT jsonb_agg(i ORDER BY n) FROM jsonb_array_elements(content -> 'identifier') WITH ORDINALITY AS each (i, n)
    WHERE coalesce(i ->> 'system', '') NOT IN ('http://hl7.org/fhir/sid/us-ssn', 'urn:oid:2.16.840.1.113883.4.1')
      AND NOT jsonb_path_exists(i, 'lax $.type.coding.code ? (@ == "SS")')), '[]')) ELSE content END
$$;

CREATE VIEW responder.patient WITH (security_barrier) AS
  SELECT p.id, p.account_id, p.external_id, p.first_names, p.last_names, p.dob, p.gender, p.addresses, p.contacts,
    jsonb_path_query_array(p.personal_identifiers, '$[*] ? (@.type != "ssn")') AS personal_identifiers,
    p.additional_identifiers, p.facility_ids, p.hie_opt_out, p.treatment_relationship, p.version, p.created_at, p.updated_at,
    p.former_external_ids
  FROM public.patient p
  WHERE p.account_id = current_setting('app.account_id')::uuid
    AND EXISTS (SELECT FROM public.patient_resource r WHERE r.patient_id = p.id AND r.source = 'contribution')
    AND NOT EXISTS (SELECT FROM public.denied_sources(p.id, 'treatment') AS sources WHERE sources = '{}' OR 'hie' = ANY (sources));

CREATE VIEW responder.patient_resource WITH (security_barrier) AS
  SELECT r.account_id, r.patient_id, r.source, r.resource_type, r.source_id, r.document_id, r.sha256,
    responder.without_ssn(r.content) AS content, r.collected_at, r.revision, r.converted_from
  FROM public.patient_resource r
  WHERE r.source = 'contribution' AND r.patient_id IN (SELECT id FROM responder.patient);

CREATE VIEW responder.patient_at_source WITH (security_barrier) AS
  SELECT s.* FROM public.patient_at_source s
  WHERE s.source = 'contribution' AND s.patient_id IN (SELECT id FROM responder.patient);

-- The id of a contributed resource at this door. Those of the record depend on what others delivered.
CREATE FUNCTION responder.id_of(patient uuid, type text, id text) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN type = 'Patient' THEN patient ELSE encode(substring(sha256(convert_to(
    'responder/' || patient || '/' || type || '/' || id, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid END
$$;

-- Each contributed resource by itself: what it was united with in the record shows nowhere.
CREATE VIEW responder.record_origin WITH (security_barrier) AS
  SELECT account_id, patient_id, source, resource_type, source_id, sha256, rules,
    responder.id_of(patient_id, resource_type, source_id) AS resource_id, exclusion, keys, rank, true AS leads, medication_id,
    sort_date, date_from, date_to, assertions, NULL::uuid AS family_id, search, false AS superseded
  FROM public.record_origin
  WHERE source = 'contribution' AND exclusion IS NULL AND patient_id IN (SELECT id FROM responder.patient);

CREATE VIEW responder.record_resource WITH (security_barrier) AS
  SELECT account_id, patient_id, resource_type, responder.id_of(patient_id, resource_type, source_id) AS resource_id,
    responder.id_of(patient_id, 'Provenance of ' || resource_type, source_id) AS provenance_id,
    date_trunc('milliseconds', collected_at) AS changed_at, NULL::timestamptz AS gone_at
  FROM responder.patient_resource;

CREATE VIEW responder.document WITH (security_barrier) AS
  SELECT d.* FROM public.document d
  WHERE d.source = 'contribution' AND d.patient_id IN (SELECT id FROM responder.patient);

CREATE VIEW responder.document_conversion WITH (security_barrier) AS
  SELECT c.* FROM public.document_conversion c WHERE c.document_id IN (SELECT id FROM responder.document);

-- Nothing of these is contributed.
CREATE VIEW responder.retired_resource AS SELECT * FROM public.retired_resource WHERE false;
CREATE VIEW responder.recorded_subject AS SELECT * FROM public.recorded_subject WHERE false;
CREATE VIEW responder.consent AS SELECT * FROM public.consent WHERE false;

-- The policy on sensitive data is the same; what it withholds is found among the contributed resources alone.
CREATE FUNCTION responder.denied_labels(account uuid, patient uuid) RETURNS text[]
LANGUAGE sql STABLE SET role = exchange_system SET search_path = public AS $$ SELECT denied_labels(account, patient) $$;
CREATE FUNCTION responder.is_withheld(d responder.document) RETURNS boolean
LANGUAGE sql STABLE SET role = exchange_system SET search_path = responder, public AS $$
  SELECT is_withheld(stored) FROM public.document stored WHERE stored.id = d.id
$$;
CREATE POLICY readable_for_networks ON sensitive_code FOR SELECT TO exchange_responder USING (true);
GRANT SELECT ON sensitive_code TO exchange_responder;

GRANT SELECT ON ALL TABLES IN SCHEMA responder TO exchange_responder, exchange_system;
