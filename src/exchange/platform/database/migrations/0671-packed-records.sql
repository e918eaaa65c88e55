-- Records are packed (0670) in the background, once an operator has turned it on (docs/operations/packs.md).

-- Of the contents that are left.
ALTER TABLE resource_pack ADD COLUMN bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(contents::text)) STORED;
CREATE OR REPLACE VIEW responder.resource_pack AS SELECT * FROM public.resource_pack WHERE false;

-- What is done: nothing, packing, or taking everything out of packs again; and up to which patient it has been done for the records that
-- were there when it was turned on. Null: for all.
CREATE TABLE packing (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  mode text NOT NULL DEFAULT 'off' CHECK (mode IN ('off', 'pack', 'unpack')),
  up_to uuid,
  changed_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO packing DEFAULT VALUES;
ALTER TABLE packing ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY readable ON packing FOR SELECT TO exchange_app USING (true);
CREATE POLICY of_service ON packing TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('packing');
GRANT SELECT ON packing TO exchange_app;
GRANT SELECT, INSERT, UPDATE ON packing TO exchange_system;

-- Records into which something was merged, to be packed when they are at rest.
CREATE TABLE record_to_pack (
  patient_id uuid PRIMARY KEY REFERENCES patient ON DELETE CASCADE,
  account_id uuid NOT NULL,
  due_at timestamptz NOT NULL
);
CREATE INDEX record_to_pack_due ON record_to_pack (due_at);
SELECT guard_account_table('record_to_pack');

CREATE FUNCTION without_places(contents jsonb, places smallint[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_agg(CASE WHEN place - 1 = ANY (places) THEN NULL ELSE content END ORDER BY place)
  FROM jsonb_array_elements(contents) WITH ORDINALITY AS each (content, place)
$$;

CREATE FUNCTION is_empty(p resource_pack) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT NOT jsonb_path_exists(p.contents, '$[*] ? (@ != null)')
$$;

-- Clears places that no row refers to any more. A row that was moved to retired_resource by the same statement refers to the same place.
-- The contents are taken from the row that is updated, which another transaction may just have changed.
CREATE FUNCTION clear_places() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM before WHERE pack IS NOT NULL) THEN RETURN NULL; END IF;
  UPDATE resource_pack p SET contents = without_places(p.contents, freed.places)
  FROM (
    SELECT b.patient_id, b.pack, array_agg(b.place) AS places FROM before b
    WHERE b.pack IS NOT NULL
      AND NOT EXISTS (SELECT FROM patient_resource r WHERE r.patient_id = b.patient_id AND r.source = b.source
        AND r.resource_type = b.resource_type AND r.source_id = b.source_id AND r.pack = b.pack AND r.place = b.place)
      AND NOT EXISTS (SELECT FROM retired_resource r WHERE r.patient_id = b.patient_id AND r.source = b.source
        AND r.resource_type = b.resource_type AND r.source_id = b.source_id AND r.pack = b.pack AND r.place = b.place)
    GROUP BY b.patient_id, b.pack
  ) AS freed
  WHERE p.patient_id = freed.patient_id AND p.pack = freed.pack;
  DELETE FROM resource_pack p USING (SELECT DISTINCT patient_id, pack FROM before WHERE pack IS NOT NULL) AS b
  WHERE p.patient_id = b.patient_id AND p.pack = b.pack AND is_empty(p);
  RETURN NULL;
END $$;
CREATE TRIGGER changed_is_cleared AFTER UPDATE ON patient_resource REFERENCING OLD TABLE AS before
  FOR EACH STATEMENT EXECUTE FUNCTION clear_places();
CREATE TRIGGER deleted_is_cleared AFTER DELETE ON patient_resource REFERENCING OLD TABLE AS before
  FOR EACH STATEMENT EXECUTE FUNCTION clear_places();
CREATE TRIGGER changed_is_cleared AFTER UPDATE ON retired_resource REFERENCING OLD TABLE AS before
  FOR EACH STATEMENT EXECUTE FUNCTION clear_places();
CREATE TRIGGER deleted_is_cleared AFTER DELETE ON retired_resource REFERENCING OLD TABLE AS before
  FOR EACH STATEMENT EXECUTE FUNCTION clear_places();

-- Where a resource is put; `retired_at` is null for one of patient_resource.
CREATE TYPE resource_place AS (
  source text, resource_type text, source_id text, retired_at timestamptz, pack integer, place smallint
);

-- Moves contents of a record into packs, up to `rows_max` of them: those in rows, and those of packs that are less than half full. A
-- content larger than half a pack stays in its row, where it is compressed by itself. Each is read back from its pack and compared
-- with what the row has before the row gives it up. Waits for nobody: what others hold is left out. Returns how many were moved; null
-- if the record is being merged.
CREATE FUNCTION pack_record(of_patient uuid, rows_max integer) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  pack_bytes CONSTANT integer := 16000;
  thin integer[];
  first_pack integer;
  kept patient_resource[];
  retired retired_resource[];
  places resource_place[];
  moved integer;
  moved_retired integer;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('record/' || of_patient, 0)) THEN RETURN NULL; END IF;
  thin := array(SELECT pack FROM resource_pack
    WHERE patient_id = of_patient AND bytes < pack_bytes / 2 ORDER BY pack FOR UPDATE SKIP LOCKED);
  -- Cleared by two transactions at once, neither of which saw that it was the last.
  DELETE FROM resource_pack p WHERE patient_id = of_patient AND pack = ANY (thin) AND is_empty(p);
  thin := array(SELECT pack FROM resource_pack WHERE patient_id = of_patient AND pack = ANY (thin));
  kept := array(SELECT r FROM patient_resource r
    WHERE r.patient_id = of_patient AND (r.pack = ANY (thin)
      OR r.pack IS NULL AND r.source <> 'contribution' AND octet_length(r.content::text) <= pack_bytes / 2)
    ORDER BY r.pack, r.source, r.resource_type, r.source_id LIMIT rows_max FOR UPDATE SKIP LOCKED);
  retired := array(SELECT r FROM retired_resource r
    WHERE r.patient_id = of_patient AND (r.pack = ANY (thin)
      OR r.pack IS NULL AND r.source <> 'contribution' AND octet_length(r.content::text) <= pack_bytes / 2)
    ORDER BY r.pack, r.source, r.resource_type, r.source_id LIMIT rows_max FOR UPDATE SKIP LOCKED);
  IF cardinality(thin) < 2
    AND NOT EXISTS (SELECT FROM unnest(kept) WHERE pack IS NULL) AND NOT EXISTS (SELECT FROM unnest(retired) WHERE pack IS NULL)
  THEN RETURN 0; END IF;

  SELECT coalesce(max(pack), 0) + 1 INTO first_pack FROM resource_pack WHERE patient_id = of_patient;
  -- Like beside like: they compress best.
  WITH opened AS MATERIALIZED (
    SELECT * FROM opened_packs(of_patient, thin)
  ), delivery AS MATERIALIZED (
    SELECT account_id, source, resource_type, source_id, NULL::timestamptz AS retired_at,
      CASE WHEN r.pack IS NULL THEN r.content ELSE content_in(o.contents, r.place) END AS content
    FROM unnest(kept) r LEFT JOIN opened o USING (pack)
    UNION ALL
    SELECT account_id, source, resource_type, source_id, retired_at,
      CASE WHEN r.pack IS NULL THEN r.content ELSE content_in(o.contents, r.place) END
    FROM unnest(retired) r LEFT JOIN opened o USING (pack)
  ), ordered AS (
    SELECT *, row_number() OVER alike AS n, sum(octet_length(content::text)) OVER alike - octet_length(content::text) AS start
    FROM delivery
    WINDOW alike AS (ORDER BY resource_type, content -> 'code', content -> 'category', source, source_id, retired_at
      ROWS UNBOUNDED PRECEDING)
  ), cut AS MATERIALIZED (
    SELECT *, (first_pack + start / pack_bytes)::integer AS pack,
      (row_number() OVER (PARTITION BY start / pack_bytes ORDER BY n) - 1)::smallint AS place
    FROM ordered
  ), written AS (
    INSERT INTO resource_pack (account_id, patient_id, pack, contents)
    SELECT account_id, of_patient, pack, jsonb_agg(content ORDER BY n) FROM cut GROUP BY account_id, pack
  )
  SELECT array_agg(ROW(source, resource_type, source_id, retired_at, pack, place)::resource_place) INTO places FROM cut;

  IF EXISTS (
    WITH opened AS MATERIALIZED (
      SELECT * FROM opened_packs(of_patient, array(SELECT DISTINCT pack FROM unnest(places)))
    )
    SELECT FROM unnest(places) w LEFT JOIN opened o USING (pack)
    WHERE (o.contents -> w.place)::text IS DISTINCT FROM (CASE
      WHEN w.retired_at IS NULL THEN (
        SELECT r.content FROM delivered_resource r WHERE r.patient_id = of_patient AND r.source = w.source
          AND r.resource_type = w.resource_type AND r.source_id = w.source_id)
      ELSE (
        SELECT CASE WHEN r.pack IS NULL THEN r.content ELSE content_in((
          SELECT p.contents FROM resource_pack p WHERE p.patient_id = of_patient AND p.pack = r.pack), r.place) END
        FROM retired_resource r WHERE r.patient_id = of_patient AND r.source = w.source
          AND r.resource_type = w.resource_type AND r.source_id = w.source_id AND r.retired_at = w.retired_at)
      END)::text
  ) THEN
    RAISE EXCEPTION 'A content reads otherwise from its pack; nothing of the record is packed';
  END IF;

  UPDATE patient_resource r SET content = NULL, pack = w.pack, place = w.place,
    standing = CASE WHEN r.pack IS NULL THEN standing_of(r.content) ELSE r.standing END
  FROM unnest(places) w
  WHERE w.retired_at IS NULL AND r.patient_id = of_patient AND r.source = w.source AND r.resource_type = w.resource_type
    AND r.source_id = w.source_id;
  GET DIAGNOSTICS moved = ROW_COUNT;
  UPDATE retired_resource r SET content = NULL, pack = w.pack, place = w.place
  FROM unnest(places) w
  WHERE r.patient_id = of_patient AND r.source = w.source AND r.resource_type = w.resource_type
    AND r.source_id = w.source_id AND r.retired_at = w.retired_at;
  GET DIAGNOSTICS moved_retired = ROW_COUNT;
  IF moved + moved_retired <> cardinality(places) THEN
    RAISE EXCEPTION 'A content was put into a pack without its row; nothing of the record is packed';
  END IF;
  RETURN cardinality(places);
END $$;

-- Takes contents of a record out of packs, `rows_max` of them or fewer, with the same regard for others. Null also if something is
-- left: others hold it, or its pack is lost.
CREATE FUNCTION unpack_record(of_patient uuid, rows_max integer) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  packs integer[];
  moved integer;
  moved_retired integer;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('record/' || of_patient, 0)) THEN RETURN NULL; END IF;
  packs := array(SELECT pack FROM resource_pack WHERE patient_id = of_patient ORDER BY pack FOR UPDATE SKIP LOCKED);
  UPDATE patient_resource r SET content = content_in(p.contents, r.place), pack = NULL, place = NULL, standing = NULL
  FROM resource_pack p
  WHERE r.patient_id = of_patient AND p.patient_id = of_patient AND p.pack = r.pack
    AND (r.source, r.resource_type, r.source_id) IN (
      SELECT source, resource_type, source_id FROM patient_resource
      WHERE patient_id = of_patient AND pack = ANY (packs) ORDER BY pack LIMIT rows_max FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS moved = ROW_COUNT;
  UPDATE retired_resource r SET content = content_in(p.contents, r.place), pack = NULL, place = NULL
  FROM resource_pack p
  WHERE r.patient_id = of_patient AND p.patient_id = of_patient AND p.pack = r.pack
    AND (r.source, r.resource_type, r.source_id, r.retired_at) IN (
      SELECT source, resource_type, source_id, retired_at FROM retired_resource
      WHERE patient_id = of_patient AND pack = ANY (packs) ORDER BY pack LIMIT rows_max FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS moved_retired = ROW_COUNT;
  DELETE FROM resource_pack p WHERE patient_id = of_patient AND pack = ANY (packs) AND is_empty(p);
  IF moved + moved_retired < rows_max
    AND (EXISTS (SELECT FROM patient_resource WHERE patient_id = of_patient AND pack IS NOT NULL)
      OR EXISTS (SELECT FROM retired_resource WHERE patient_id = of_patient AND pack IS NOT NULL))
  THEN RETURN NULL; END IF;
  RETURN moved + moved_retired;
END $$;
