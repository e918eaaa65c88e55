-- Sensitive data (42 CFR Part 2 and its like): which labels an account and a patient withhold, and the functions that decide what
-- is withheld. Everything that leaves is read through them (docs/sensitive-data.md). Without a policy they return nothing.

-- Codes that a resource carries a label for, as if its source had labelled it. Loaded by operators, for all accounts.
CREATE TABLE sensitive_code (
  label text NOT NULL,
  -- As sources spell it; several spellings of one system are several rows.
  system text NOT NULL,
  -- In capitals and without dots.
  code text NOT NULL,
  loaded_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (system, code, label)
);
ALTER TABLE sensitive_code ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY readable ON sensitive_code FOR SELECT TO exchange_app USING (true);
CREATE POLICY of_service ON sensitive_code TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('sensitive_code');
GRANT SELECT ON sensitive_code TO exchange_app, exchange_system;
GRANT INSERT, UPDATE, DELETE ON sensitive_code TO exchange_admin;

-- Codes of a FHIR ValueSet carry a label from now on, however sources spell their system. Returns how many the ValueSet lists.
CREATE FUNCTION load_sensitive_codes(new_label text, value_set jsonb, spellings jsonb) RETURNS integer LANGUAGE sql AS $$
  WITH listed AS (
    SELECT each ->> 'system' AS system, each ->> 'code' AS code
    FROM jsonb_path_query(value_set, 'lax $.expansion.contains.**{0 to last} ? (exists (@.system) && exists (@.code))') AS each
    UNION SELECT include ->> 'system', concept ->> 'code'
    FROM jsonb_path_query(value_set, 'lax $.compose.include[*]') AS include, jsonb_path_query(include, 'lax $.concept[*]') AS concept
  ), inserted AS (
    INSERT INTO sensitive_code (label, system, code)
    SELECT DISTINCT new_label, spelled.system, replace(upper(l.code), '.', '') FROM listed l
    CROSS JOIN LATERAL (SELECT l.system UNION SELECT key FROM jsonb_each_text(spellings) WHERE value = l.system) AS spelled
    WHERE l.system IS NOT NULL AND l.code IS NOT NULL
    ON CONFLICT DO NOTHING
  )
  SELECT count(*)::integer FROM listed WHERE system IS NOT NULL AND code IS NOT NULL
$$;

-- When the labels that an account withholds (settings.withhold) last changed. Null: never.
ALTER TABLE account ADD COLUMN withhold_changed_at timestamptz;
CREATE FUNCTION note_withhold_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.withhold_changed_at := clock_timestamp();
  RETURN NEW;
END $$;
CREATE TRIGGER withhold_is_dated BEFORE UPDATE ON account FOR EACH ROW
  WHEN (OLD.settings -> 'withhold' IS DISTINCT FROM NEW.settings -> 'withhold') EXECUTE FUNCTION note_withhold_change();

-- The security labels that a consent is about. Empty: it is about sources.
ALTER TABLE consent ADD COLUMN labels text[] NOT NULL DEFAULT '{}';
CREATE INDEX consent_of_labels ON consent (patient_id) WHERE labels <> '{}';

-- A label and those that it includes. Whoever withholds restricted data withholds very restricted data; categories include
-- their narrower ones (HL7 v3 ActCode).
CREATE FUNCTION with_included(given text[], with_stricter boolean) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array(SELECT unnest(given) UNION
    SELECT i.included FROM (VALUES ('R', 'V', true), ('SUD', 'ETHUD', false), ('SUD', 'OPIOIDUD', false), ('BH', 'SUD', false),
      ('BH', 'ETHUD', false), ('BH', 'OPIOIDUD', false), ('BH', 'PSY', false), ('BH', 'PSYTHPN', false), ('BH', 'MH', false),
      ('BH', 'COGN', false), ('BH', 'DVD', false), ('BH', 'EMOTDIS', false), ('STD', 'HIV', false), ('STD', 'AID', false),
      ('HIV', 'AID', false), ('R', 'CON', true))
      AS i(label, included, is_stricter)
    WHERE i.label = ANY (given) AND (with_stricter OR NOT i.is_stricter))
$$;

-- The labels withheld from a patient's record now: those of the account that no consent permits, and those a consent denies.
-- A document without a patient is under the account's policy.
CREATE FUNCTION denied_labels(account uuid, patient uuid) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  of_account text[];
  permitted text[];
  denied text[];
BEGIN
  SELECT array(SELECT jsonb_array_elements_text(settings -> 'withhold')) INTO of_account
  FROM account a WHERE a.id = denied_labels.account AND settings -> 'withhold' <> '[]';
  SELECT array_agg(label) FILTER (WHERE decision = 'permit'), array_agg(label) FILTER (WHERE decision = 'deny')
  INTO permitted, denied
  FROM consent CROSS JOIN unnest(labels) AS label
  WHERE patient_id = patient AND labels <> '{}' AND ended_at IS NULL
    AND coalesce(period_start <= now(), true) AND coalesce(period_end > now(), true);
  IF of_account IS NULL AND denied IS NULL THEN RETURN '{}'; END IF;
  RETURN array(SELECT unnest(with_included(of_account, true)) EXCEPT SELECT unnest(with_included(permitted, false))
    UNION SELECT unnest(with_included(denied, true)));
END $$;

-- Whether a resource carries one of these labels: by its source (meta.security, also of what it contains; securityLabel of a
-- document; confidentiality of a Composition; inline labels of HL7 DS4P), or by a code that an operator loaded.
CREATE FUNCTION is_sensitive(content jsonb, denied text[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF denied = '{}' THEN RETURN false; END IF;
  RETURN EXISTS (
      SELECT FROM jsonb_path_query(jsonb_build_array(
        jsonb_path_query_array(content, 'lax $.meta.security[*].code'),
        jsonb_path_query_array(content, 'lax $.contained[*].meta.security[*].code'),
        jsonb_path_query_array(content, 'lax $.securityLabel[*].coding[*].code'),
        jsonb_path_query_array(content, 'lax $.confidentiality'),
        jsonb_path_query_array(content, 'strict $.**.extension[*] ? (@.url like_regex "inline-sec-label$").valueCoding.code')),
        'strict $[*][*]') AS label
      WHERE label #>> '{}' = ANY (denied))
    OR EXISTS (
      SELECT FROM jsonb_path_query(content, 'strict $.** ? (exists (@.system) && exists (@.code))') AS coding
      JOIN sensitive_code s ON s.system = coding ->> 'system' AND s.code = replace(upper(coding ->> 'code'), '.', '')
      WHERE s.label = ANY (denied));
END $$;

-- The consolidated resources of a patient that are withheld: those with a denied label or code in one of their deliveries,
-- what a labelled document states, what takes its meaning from a withheld Medication, and what may hold in its text what
-- withheld ones say (reports, lists and Compositions that name one, the DocumentReference of a document that states one).
CREATE FUNCTION withheld_resources(account uuid, patient uuid) RETURNS SETOF uuid LANGUAGE plpgsql STABLE ROWS 10 AS $$
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
        SELECT FROM delivered r WHERE r.sensitive AND r.resource_type = 'DocumentReference'
          AND r.source = d.source AND r.source_id = d.converted_from)
      UNION
      SELECT d.* FROM withheld w JOIN delivered d ON d.resource_id = w.resource_id OR d.source = w.source AND (
        w.resource_type = 'Medication' AND d.medication_id = w.source_id
        OR d.named @> ARRAY[w.resource_type || '/' || w.source_id]
        OR d.resource_type IN ('DocumentReference', 'Composition')
          AND (d.source_id = w.converted_from OR d.converted_from = w.converted_from))
    )
    SELECT DISTINCT o.resource_id FROM withheld o WHERE o.resource_id IS NOT NULL AND o.resource_id <> patient;
END $$;

-- Whether a stored file is withheld. While something may be withheld from a record, neither a source's stored responses leave (they hold
-- everything as it came), nor files that nobody could read or that a newer version replaced.
CREATE FUNCTION is_withheld(d document) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
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
      WHERE same.patient_id = d.patient_id AND same.sha256 = d.sha256), d.content_type NOT LIKE '%xml%');
END $$;

-- When that which is withheld last changed, for a patient or for the whole account: what was made before must not be handed out
-- any more. Null: never.
CREATE FUNCTION sensitivity_changed_at(of_account uuid, of_patient uuid) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT max(at) FROM (
    SELECT withhold_changed_at AS at FROM account a WHERE a.id = of_account
    UNION ALL SELECT max(loaded_at) FROM sensitive_code WHERE EXISTS (
      SELECT FROM account a WHERE a.id = of_account AND withhold_changed_at IS NOT NULL)
      OR EXISTS (SELECT FROM consent WHERE account_id = of_account AND labels <> '{}')
    UNION ALL SELECT unnest(ARRAY[recorded_at, ended_at, period_start, period_end]) FROM consent
      WHERE account_id = of_account AND (of_patient IS NULL OR patient_id = of_patient) AND labels <> '{}') AS changes
  WHERE at <= now()
$$;

-- The places of those resources (of a message) that may leave. What repeats others in its text, or takes its meaning from them, does not
-- leave without them.
CREATE FUNCTION leaving(account uuid, patient uuid, resources jsonb) RETURNS integer[] LANGUAGE sql STABLE AS $$
  WITH looked AS (
    SELECT place, each ->> 'resourceType' AS type, is_sensitive(each, denied_labels(account, patient)) AS sensitive
    FROM jsonb_array_elements(resources) WITH ORDINALITY AS r(each, place)
  )
  SELECT array(SELECT place::integer - 1 FROM looked WHERE NOT sensitive
    AND NOT (type ~ '^(DiagnosticReport|DocumentReference|Composition|List|Medication.+)$' AND EXISTS (SELECT FROM looked WHERE sensitive))
    ORDER BY place)
$$;
