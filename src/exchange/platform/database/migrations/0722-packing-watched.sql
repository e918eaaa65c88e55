-- What 0671 left open: an operator who turns packing off or round is obeyed by a record that is being packed; a record whose packing
-- fails is known; and one from which nothing more can be taken, because a pack is lost, fails instead of waiting for ever.

-- How often in a row a record could not be packed, or taken out of packs.
ALTER TABLE record_to_pack ADD COLUMN failures integer NOT NULL DEFAULT 0;
CREATE INDEX record_to_pack_failing ON record_to_pack (failures) WHERE failures > 0;

-- As in 0671, while the operator wants it. Asked under the record's lock: what is turned round meets no packing that began before.
CREATE OR REPLACE FUNCTION pack_record(of_patient uuid, rows_max integer) RETURNS integer LANGUAGE plpgsql AS $$
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
  IF NOT EXISTS (SELECT FROM packing WHERE mode = 'pack') THEN RETURN 0; END IF;
  thin := array(SELECT pack FROM resource_pack
    WHERE patient_id = of_patient AND bytes < pack_bytes / 2 ORDER BY pack FOR UPDATE SKIP LOCKED);
  -- Cleared by two transactions at once, neither of which saw that it was the last.
  DELETE FROM resource_pack p WHERE patient_id = of_patient AND pack = ANY (thin) AND is_empty(p);
  thin := array(SELECT pack FROM resource_pack WHERE patient_id = of_patient AND pack = ANY (thin));
  kept := array(SELECT r FROM patient_resource r WHERE r.patient_id = of_patient AND r.pack = ANY (thin)
    ORDER BY r.pack, r.source, r.resource_type, r.source_id LIMIT rows_max FOR UPDATE SKIP LOCKED);
  -- In the order of the primary key, so that no more are looked at than are taken.
  kept := kept || array(SELECT r FROM patient_resource r
    WHERE r.patient_id = of_patient AND r.pack IS NULL AND r.source <> 'contribution'
      AND pg_column_size(r.content) <= pack_bytes / 2 AND octet_length(r.content::text) <= pack_bytes / 2
    ORDER BY r.source, r.resource_type, r.source_id LIMIT rows_max - cardinality(kept) FOR UPDATE SKIP LOCKED);
  retired := array(SELECT r FROM retired_resource r WHERE r.patient_id = of_patient AND r.pack = ANY (thin)
    ORDER BY r.pack, r.source, r.resource_type, r.source_id LIMIT rows_max FOR UPDATE SKIP LOCKED);
  retired := retired || array(SELECT r FROM retired_resource r
    WHERE r.patient_id = of_patient AND r.pack IS NULL AND r.source <> 'contribution'
      AND pg_column_size(r.content) <= pack_bytes / 2 AND octet_length(r.content::text) <= pack_bytes / 2
    ORDER BY r.source, r.resource_type, r.source_id LIMIT rows_max - cardinality(retired) FOR UPDATE SKIP LOCKED);
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

-- As in 0671. A pack that is lost is said to be, once all that is left has been taken out.
CREATE OR REPLACE FUNCTION unpack_record(of_patient uuid, rows_max integer) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  packs integer[];
  moved integer;
  moved_retired integer;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('record/' || of_patient, 0)) THEN RETURN NULL; END IF;
  IF NOT EXISTS (SELECT FROM packing WHERE mode = 'unpack') THEN RETURN 0; END IF;
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
  IF moved + moved_retired = 0 AND EXISTS (
    SELECT FROM patient_resource r WHERE r.patient_id = of_patient AND r.pack IS NOT NULL
      AND NOT EXISTS (SELECT FROM resource_pack p WHERE p.patient_id = of_patient AND p.pack = r.pack)
    UNION ALL
    SELECT FROM retired_resource r WHERE r.patient_id = of_patient AND r.pack IS NOT NULL
      AND NOT EXISTS (SELECT FROM resource_pack p WHERE p.patient_id = of_patient AND p.pack = r.pack))
  THEN RAISE EXCEPTION 'A pack of the record is not there' USING ERRCODE = 'data_corrupted'; END IF;
  IF moved + moved_retired < rows_max
    AND (EXISTS (SELECT FROM patient_resource WHERE patient_id = of_patient AND pack IS NOT NULL)
      OR EXISTS (SELECT FROM retired_resource WHERE patient_id = of_patient AND pack IS NOT NULL))
  THEN RETURN NULL; END IF;
  RETURN moved + moved_retired;
END $$;
