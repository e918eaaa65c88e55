-- What a changed consent releases has changed, and only what holds the patient was made before the change.

-- The consolidated resources of a patient that carry one of these labels, with what repeats them: `withheld_resources` of 0550 with its
-- labels as a parameter.
CREATE FUNCTION resources_carrying(denied text[], patient uuid) RETURNS SETOF uuid LANGUAGE plpgsql STABLE ROWS 10 AS $$
BEGIN
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
CREATE OR REPLACE FUNCTION withheld_resources(account uuid, patient uuid) RETURNS SETOF uuid LANGUAGE plpgsql STABLE ROWS 10 AS $$
DECLARE
  denied text[] := denied_labels(account, patient);
BEGIN
  IF denied = '{}' THEN RETURN; END IF;
  RETURN QUERY SELECT * FROM resources_carrying(denied, patient);
END $$;

-- Until when what a consent about labels releases is marked as changed.
ALTER TABLE consent ADD COLUMN released_until timestamptz NOT NULL DEFAULT now();

-- Marks what carries the labels of a consent and is not withheld now as changed, so that `_since`, `_lastUpdated` and subscriptions bring
-- it. Called under the lock of the record.
CREATE FUNCTION mark_released(of_consent consent) RETURNS void LANGUAGE sql AS $$
  WITH marked AS (
    UPDATE record_resource r SET changed_at = clock_timestamp()
    WHERE r.patient_id = of_consent.patient_id AND r.gone_at IS NULL AND r.resource_id IN (
      SELECT * FROM resources_carrying(with_included(of_consent.labels, true), of_consent.patient_id)
      EXCEPT SELECT * FROM withheld_resources(of_consent.account_id, of_consent.patient_id))
    RETURNING jsonb_build_object('resourceType', resource_type, 'resourceId', resource_id, 'change', 'update') AS change)
  SELECT note_changes(of_consent.account_id, of_consent.patient_id, jsonb_agg(change)) FROM marked
$$;

-- Written: it may release now. Its period releases as time passes (`consents` of `reconcile`).
CREATE FUNCTION note_released() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('record/' || NEW.patient_id, 0));
  PERFORM mark_released(NEW);
  RETURN NULL;
END $$;
CREATE TRIGGER released_is_changed AFTER INSERT OR UPDATE ON consent FOR EACH ROW WHEN (NEW.labels <> '{}')
  EXECUTE FUNCTION note_released();

-- When the labels that an account withholds last changed. Null: never.
CREATE FUNCTION policy_changed_at(of_account uuid) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT withhold_changed_at FROM account WHERE id = of_account
$$;

-- When that which is withheld last changed for one of the patients of an export, or for the whole account. Null: never.
CREATE FUNCTION export_sensitivity_changed_at(of_export uuid) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  WITH held AS (
    SELECT c.* FROM bulk_export e JOIN consent c ON c.account_id = e.account_id AND c.labels <> '{}'
    WHERE e.id = of_export AND EXISTS (
      SELECT FROM bulk_export_patient m WHERE m.export_id = e.id AND m.patient_id = c.patient_id)
  ), policy AS (
    SELECT policy_changed_at(account_id) AS at FROM bulk_export WHERE id = of_export
  )
  SELECT max(at) FROM (
    SELECT at FROM policy
    UNION ALL SELECT max(loaded_at) FROM sensitive_code
      WHERE EXISTS (SELECT FROM policy WHERE at IS NOT NULL) OR EXISTS (SELECT FROM held)
    UNION ALL SELECT unnest(ARRAY[recorded_at, ended_at, period_start, period_end]) FROM held) AS changes
  WHERE at <= now()
$$;
