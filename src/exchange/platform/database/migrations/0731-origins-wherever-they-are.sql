-- Origins may lie in packs (0730): what these read of them, they read wherever they are.

-- As in 0721.
CREATE OR REPLACE FUNCTION resources_carrying(denied text[], patient uuid) RETURNS SETOF uuid LANGUAGE plpgsql STABLE ROWS 10 AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE delivered AS MATERIALIZED (
      SELECT o.resource_id, o.source, o.resource_type, o.source_id, o.medication_id, p.converted_from,
        is_sensitive(p.content, denied) AS sensitive,
        CASE WHEN o.resource_type IN ('DiagnosticReport', 'Composition', 'List', 'DocumentReference')
          THEN array(SELECT regexp_replace(named #>> '{}', '/_history/.*$', '')
            FROM jsonb_path_query(p.content, 'strict $.**.reference') AS named) END AS named
      FROM merged_place o JOIN delivered_about(patient) p USING (patient_id, source, resource_type, source_id)
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

-- As in 0721.
CREATE OR REPLACE FUNCTION is_withheld(d document, withheld uuid[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  denied text[] := denied_labels(d.account_id, d.patient_id);
BEGIN
  IF denied = '{}' THEN RETURN false; END IF;
  RETURN d.kind = 'page'
    OR EXISTS (
      WITH brought AS MATERIALIZED (
        SELECT p.content, p.pack, p.place, o.resource_id
        FROM patient_resource p LEFT JOIN merged_place o USING (patient_id, source, resource_type, source_id)
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

-- As in 0310.
CREATE OR REPLACE FUNCTION passing_items(of_account uuid, subscriptions uuid[], patient uuid, items jsonb)
RETURNS TABLE (subscription_id uuid, place bigint) LANGUAGE sql STABLE AS $$
  WITH item AS MATERIALIZED (
    SELECT i.place, i.item #>> '{focus,type}' AS type, (i.item #>> '{focus,id}')::uuid AS id, i.item -> 'triggers' AS triggers
    FROM jsonb_array_elements(items) WITH ORDINALITY AS i(item, place)
  ), kind AS MATERIALIZED (
    SELECT DISTINCT type, triggers, array(SELECT jsonb_array_elements_text(triggers)) AS codes FROM item
  ), wanted AS MATERIALIZED (
    -- Of each subscription: what must be found in the content of an item of this kind, if the rest fits.
    SELECT f.subscription_id, kind.type, kind.triggers, count(*) FILTER (WHERE f.clauses > 0) AS filters
    FROM kind JOIN subscription_filter f ON f.account_id = of_account AND f.type = kind.type
    WHERE f.subscription_id = ANY (subscriptions)
    GROUP BY 1, 2, 3
    HAVING bool_and(coalesce(patient = ANY (f.patients), true)
      AND NOT EXISTS (SELECT FROM jsonb_array_elements(f.triggers) AS alternatives WHERE NOT alternatives ?| kind.codes))
    UNION ALL
    SELECT s.id, kind.type, kind.triggers, 0 FROM unnest(subscriptions) AS s(id) CROSS JOIN kind
    WHERE NOT EXISTS (SELECT FROM subscription_filter f WHERE f.subscription_id = s.id)
  ), entry AS MATERIALIZED (
    SELECT DISTINCT item.place, item.type, e.entry
    FROM item JOIN merged_origin o ON o.patient_id = patient AND o.resource_id = item.id CROSS JOIN unnest(o.search) AS e(entry)
  ), found AS (
    SELECT entry.place, c.subscription_id, c.filter_id
    FROM entry CROSS JOIN unnest(keys_of_entry(entry.entry)) AS k(key)
      JOIN subscription_code c ON c.account_id = of_account AND c.type = entry.type AND c.key = k.key
    GROUP BY 1, 2, 3, c.clauses HAVING bit_or(c.clause) = c.clauses
  ), wild AS MATERIALIZED (
    SELECT DISTINCT entry.place FROM entry WHERE entry.entry = '*'
  )
  -- Added up instead of joined: how many rows there are cannot be estimated.
  SELECT subscription_id, place FROM (
    SELECT wanted.subscription_id, item.place, CASE WHEN item.place IN (SELECT wild.place FROM wild) THEN 0 ELSE wanted.filters END AS filters, true AS is_wanted
    FROM item JOIN wanted USING (type, triggers) JOIN fhir_subscription s ON s.id = wanted.subscription_id
    WHERE s.types IS NULL OR item.type = ANY (s.types)
    UNION ALL SELECT found.subscription_id, found.place, -count(*), false FROM found GROUP BY 1, 2
  ) AS counted
  GROUP BY 1, 2 HAVING bool_or(is_wanted) AND sum(filters) <= 0
$$;

-- As in 0210.
CREATE OR REPLACE FUNCTION matches_clause(patient uuid, resource uuid, clause jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM merged_origin o CROSS JOIN unnest(o.search) AS entry
    WHERE o.patient_id = patient AND o.resource_id = resource AND (entry = '*' OR EXISTS (
      SELECT FROM jsonb_array_elements(clause) AS a
      WHERE a -> 'entries' ? entry
        OR starts_with(entry, a ->> 'start') AND right(entry, length(a ->> 'end')) = a ->> 'end')))
$$;

-- As in 0591.
CREATE OR REPLACE FUNCTION lock_end(query uuid, of_source text, of_attempt integer, of_patient uuid)
RETURNS TABLE (
  id uuid, patient_id uuid, metadata jsonb, status text, requested jsonb, external_id text, ending jsonb
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  SELECT q.id, q.patient_id, q.metadata, q.status, q.requested INTO id, patient_id, metadata, status, requested
    FROM network_query AS q WHERE q.id = query FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT jsonb_build_object(
    'collection', a.collection, 'asksGateways', a.gateways_chosen_at IS NOT NULL,
    'resources', a.resources, 'strays', a.strays, 'documents', a.documents,
    'completedAt', coalesce(a.completed_at, clock_timestamp())
  ) INTO ending FROM network_query_attempt AS a
    WHERE a.query_id = query AND a.source = of_source AND a.attempt = of_attempt AND a.status = 'running'
    FOR NO KEY UPDATE;
  SELECT p.external_id, CASE WHEN ending IS NULL THEN NULL ELSE ending || jsonb_build_object(
    'excluded', (
      SELECT coalesce(jsonb_agg(jsonb_build_object('reason', e.reason, 'count', e.count) ORDER BY e.reason), '[]') FROM (
        SELECT o.exclusion AS reason, count(*) AS count FROM merged_place AS o
        WHERE o.patient_id = of_patient AND o.source = of_source AND o.exclusion IS NOT NULL GROUP BY o.exclusion
      ) AS e
    ),
    'retired', (
      SELECT coalesce(jsonb_agg(
        jsonb_build_object('reason', r.reason, 'resourceType', r.type, 'count', r.count) ORDER BY r.type
      ), '[]') FROM (
        SELECT d.reason, d.resource_type AS type, count(*) AS count FROM retired_resource AS d
        WHERE d.query_id = query AND d.source = of_source AND d.attempt = of_attempt AND d.converted_from IS NULL
        GROUP BY d.reason, d.resource_type
      ) AS r
    ),
    'others', (
      SELECT coalesce(jsonb_agg(jsonb_build_object(
        'source', o.source, 'attempt', o.attempt, 'status', o.status, 'willRetry', o.will_retry
      )), '[]') FROM network_query_attempt AS o
      WHERE o.query_id = query AND (o.source <> of_source OR o.attempt <> of_attempt)
    )
  ) END INTO external_id, ending FROM patient AS p WHERE p.id = patient_id;
  RETURN NEXT;
END $$;
