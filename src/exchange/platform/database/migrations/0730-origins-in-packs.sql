-- What the merge knows of the deliveries of a record at rest may lie in packs, too (decision 730). Nothing is packed by this migration.

-- Of a delivery, as in record_origin: where it is in the record.
CREATE TYPE origin_place AS (
  source text, resource_type text, source_id text,
  -- The first eight bytes of it.
  sha256 bytea,
  rules integer, resource_id uuid, exclusion text,
  -- Without the identity that it ends with.
  rank text COLLATE "C",
  leads boolean, superseded boolean, medication_id text, sort_date text COLLATE "C", date_from date, date_to date
);
-- And what only merging and searching read. `family_id` is null if it is the resource's id.
CREATE TYPE origin_facts AS (
  family_id uuid, keys text[] COLLATE "C", assertions jsonb, search text[] COLLATE "C"
);

-- Some hundred deliveries of a record: a place and facts for each, in the same order. A delivery is either in record_origin or here. While
-- a record has packs, its keys are not in record_key.
CREATE TABLE origin_pack (
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  pack integer NOT NULL,
  places origin_place[] NOT NULL,
  facts origin_facts[] NOT NULL,
  PRIMARY KEY (patient_id, pack)
);
SELECT guard_account_table('origin_pack');

CREATE FUNCTION identity_in_rank(source text, source_id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT ' ' || source || ' ' || source_id
$$;

-- A pack as it was in record_origin, apart from the rest of the hashes. With the number of rows and the cost that the planner is to
-- expect: of `unnest` it expects ten rows and no cost, and would open each pack again for each of a thousand others.
CREATE FUNCTION origins_in(p origin_pack) RETURNS SETOF record_origin LANGUAGE plpgsql IMMUTABLE ROWS 500 COST 40000 AS $$
BEGIN
  RETURN QUERY SELECT p.account_id, p.patient_id, o.source, o.resource_type, o.source_id, o.sha256, o.rules, o.resource_id, o.exclusion, o.keys,
    CASE WHEN o.rank = '' THEN '' ELSE o.rank || identity_in_rank(o.source, o.source_id) END,
    o.leads, o.medication_id, o.sort_date, o.date_from, o.date_to, o.assertions, coalesce(o.family_id, o.resource_id), o.search, o.superseded
  FROM unnest(p.places, p.facts) AS o (source, resource_type, source_id, sha256, rules, resource_id, exclusion, rank, leads, superseded,
    medication_id, sort_date, date_from, date_to, family_id, keys, assertions, search);
END $$;

-- Its places alone.
CREATE FUNCTION places_in(places origin_place[]) RETURNS SETOF origin_place LANGUAGE plpgsql IMMUTABLE ROWS 500 COST 20000 AS $$
BEGIN
  RETURN QUERY SELECT * FROM unnest(places);
END $$;

-- The deliveries that are in packs. To find single ones among them, join: each pack that is looked into is opened whole.
CREATE VIEW packed_place WITH (security_invoker) AS
  SELECT p.account_id, p.patient_id, o.source, o.resource_type, o.source_id, o.sha256, o.rules, o.resource_id, o.exclusion,
    CASE WHEN o.rank = '' THEN '' ELSE o.rank || identity_in_rank(o.source, o.source_id) END COLLATE "C" AS rank,
    o.leads, o.superseded, o.medication_id, o.sort_date, o.date_from, o.date_to
  FROM origin_pack p CROSS JOIN LATERAL places_in(p.places) AS o;

-- What the merge knows of each delivery, wherever it is: what places it in the record, and all. Of a hash, only the first eight bytes are
-- always there.
CREATE VIEW merged_place WITH (security_invoker) AS
  SELECT account_id, patient_id, source, resource_type, source_id, sha256, rules, resource_id, exclusion, rank, leads, superseded,
    medication_id, sort_date, date_from, date_to
  FROM record_origin
  UNION ALL
  SELECT * FROM packed_place;
CREATE VIEW merged_origin WITH (security_invoker) AS
  SELECT * FROM record_origin
  UNION ALL
  -- The patient is the pack's, so that no other patient's packs are opened.
  SELECT p.account_id, p.patient_id, o.source, o.resource_type, o.source_id, o.sha256, o.rules, o.resource_id, o.exclusion, o.keys, o.rank,
    o.leads, o.medication_id, o.sort_date, o.date_from, o.date_to, o.assertions, o.family_id, o.search, o.superseded
  FROM origin_pack p CROSS JOIN LATERAL origins_in(p) AS o;
GRANT SELECT ON packed_place, merged_place, merged_origin TO exchange_app, exchange_system;

-- Contributions are not packed: networks read them by themselves.
CREATE VIEW responder.merged_place WITH (security_barrier) AS
  SELECT account_id, patient_id, source, resource_type, source_id, sha256, rules, resource_id, exclusion, rank, leads, superseded,
    medication_id, sort_date, date_from, date_to
  FROM responder.record_origin;
CREATE VIEW responder.packed_place AS SELECT * FROM responder.merged_place WHERE false;
CREATE VIEW responder.merged_origin WITH (security_barrier) AS SELECT * FROM responder.record_origin;
GRANT SELECT ON responder.merged_place, responder.packed_place, responder.merged_origin TO exchange_responder, exchange_system;

-- The keys of a record, as its deliveries have them.
CREATE FUNCTION keys_of_record(of_patient uuid) RETURNS TABLE (resource_type text, key text, resource_id uuid) LANGUAGE sql STABLE AS $$
  SELECT DISTINCT o.resource_type, k.key, o.family_id
  FROM record_origin o CROSS JOIN LATERAL unnest(o.keys) AS k (key)
  WHERE o.patient_id = of_patient AND o.family_id IS NOT NULL
$$;

-- What the packs of a record hold, as it was in record_origin. The rest of a hash is that of the delivery, unless this has changed since.
CREATE FUNCTION unpacked_origins(of_patient uuid) RETURNS SETOF record_origin LANGUAGE sql STABLE AS $$
  SELECT o.account_id, o.patient_id, o.source, o.resource_type, o.source_id, coalesce(r.sha256, o.sha256), o.rules, o.resource_id,
    o.exclusion, o.keys, o.rank, o.leads, o.medication_id, o.sort_date, o.date_from, o.date_to, o.assertions, o.family_id, o.search, o.superseded
  FROM origin_pack p CROSS JOIN LATERAL origins_in(p) AS o
    LEFT JOIN patient_resource r ON r.patient_id = o.patient_id AND r.source = o.source AND r.resource_type = o.resource_type
      AND r.source_id = o.source_id AND substring(r.sha256 FOR 8) = o.sha256
  WHERE p.patient_id = of_patient
$$;

-- Moves what the merge knows of a record into packs, unless something is yet to be merged, or the record is so large that its reading
-- would open many of them. All is read back and compared before the rows are deleted. Called under the record's lock. Returns of how many deliveries.
CREATE FUNCTION pack_origins(of_patient uuid) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  in_pack CONSTANT integer := 500;
  in_record CONSTANT integer := 5000;
  moved record_origin[];
BEGIN
  moved := array(SELECT o FROM record_origin o WHERE patient_id = of_patient AND source <> 'contribution' LIMIT in_record + 1);
  IF cardinality(moved) NOT BETWEEN 1 AND in_record THEN RETURN 0; END IF;
  PERFORM unpack_origins(of_patient);
  IF EXISTS (
    SELECT FROM (SELECT source, resource_type, source_id, sha256 FROM record_origin WHERE patient_id = of_patient) AS merged
      FULL JOIN (SELECT source, resource_type, source_id, sha256 FROM patient_resource WHERE patient_id = of_patient) AS delivered
      USING (source, resource_type, source_id, sha256)
    WHERE merged IS NULL OR delivered IS NULL
  ) THEN
    RETURN 0;
  END IF;
  IF EXISTS (
    SELECT FROM (SELECT resource_type, key, resource_id FROM record_key WHERE patient_id = of_patient) AS known
      FULL JOIN keys_of_record(of_patient) AS own USING (resource_type, key, resource_id)
    WHERE known IS NULL OR own IS NULL
  ) THEN
    RAISE EXCEPTION 'The keys of a record are not those of its deliveries; its origins are not packed';
  END IF;
  moved := array(SELECT o FROM record_origin o WHERE patient_id = of_patient AND source <> 'contribution');

  INSERT INTO origin_pack (account_id, patient_id, pack, places, facts)
  SELECT account_id, of_patient, n / in_pack + 1,
    array_agg(ROW(source, resource_type, source_id, substring(sha256 FOR 8), rules, resource_id, exclusion,
      CASE WHEN rank = '' THEN '' ELSE left(rank, -length(identity_in_rank(source, source_id))) END,
      leads, superseded, medication_id, sort_date, date_from, date_to)::origin_place ORDER BY n),
    array_agg(ROW(nullif(family_id, resource_id), keys, assertions, search)::origin_facts ORDER BY n)
  FROM (
    -- Like beside like: they compress best.
    SELECT *, (row_number() OVER (ORDER BY resource_type, source, sort_date, source_id) - 1)::integer AS n FROM unnest(moved)
  ) AS numbered
  GROUP BY account_id, n / in_pack;

  IF EXISTS (
    SELECT FROM (SELECT o::text AS origin FROM unnest(moved) AS o) AS known
      FULL JOIN (SELECT o::text AS origin FROM unpacked_origins(of_patient) AS o) AS packed USING (origin)
    WHERE known IS NULL OR packed IS NULL
  ) THEN
    RAISE EXCEPTION 'An origin reads otherwise from its pack; those of the record are not packed';
  END IF;

  DELETE FROM record_origin WHERE patient_id = of_patient AND source <> 'contribution';
  DELETE FROM record_key WHERE patient_id = of_patient;
  RETURN cardinality(moved);
END $$;

-- Takes what the merge knows of a record out of packs; it is to be packed again when the record is at rest. Called under the record's lock,
-- before anything of it is written. Returns of how many deliveries.
CREATE FUNCTION unpack_origins(of_patient uuid) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  moved integer;
BEGIN
  IF NOT EXISTS (SELECT FROM origin_pack WHERE patient_id = of_patient) THEN RETURN 0; END IF;
  -- A row that is there is the newer one: a build that knows no packs has merged the record.
  INSERT INTO record_origin SELECT * FROM unpacked_origins(of_patient) ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS moved = ROW_COUNT;
  DELETE FROM origin_pack WHERE patient_id = of_patient;
  INSERT INTO record_key (account_id, patient_id, resource_type, key, resource_id)
  SELECT p.account_id, of_patient, k.resource_type, k.key, k.resource_id
  FROM patient p CROSS JOIN LATERAL keys_of_record(of_patient) AS k WHERE p.id = of_patient
  ON CONFLICT DO NOTHING;
  INSERT INTO record_to_pack (account_id, patient_id, due_at)
  SELECT p.account_id, of_patient, now() + interval '5 minutes' FROM patient p, packing WHERE p.id = of_patient AND mode = 'pack'
  ON CONFLICT DO NOTHING;
  RETURN moved;
END $$;
