-- As in 0722, with four times as much in a pack (decision 730), and without using a number twice. Packs that are there become as large
-- when they are less than half full.
CREATE OR REPLACE FUNCTION pack_record(of_patient uuid, rows_max integer) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  pack_bytes CONSTANT integer := 64000;
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

  -- Nor the number of a pack that was lost: what refers to it must not read others' contents.
  SELECT coalesce(max(pack), 0) + 1 INTO first_pack FROM (
    SELECT pack FROM resource_pack WHERE patient_id = of_patient
    UNION ALL SELECT pack FROM patient_resource WHERE patient_id = of_patient
    UNION ALL SELECT pack FROM retired_resource WHERE patient_id = of_patient
  ) AS used;
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
