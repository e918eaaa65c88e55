-- What the workflow of a run begins with, in one statement like those of 0591-one-statement.sql: how the query began (a run
-- that a redrive began is bulk work), its patient, and each source of the run in the order of the interface, with the
-- numbers of its newest attempt and of its first one.
CREATE FUNCTION run_to_start(account uuid, query uuid, of_run integer)
RETURNS TABLE (origin text, patient_id uuid, sources jsonb)
LANGUAGE plpgsql STABLE SET role = exchange_app AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('app.account_id', account::text, true);
  RETURN QUERY
    SELECT CASE WHEN r.redrive_id IS NULL THEN q.origin ELSE 'bulk' END, q.patient_id, (
      SELECT coalesce(jsonb_agg(jsonb_build_object(
        'source', a.source, 'attempt', a.newest, 'firstAttempt', a.first
      ) ORDER BY array_position(ARRAY['hie', 'pharmacy', 'lab'], a.source)), '[]')
      FROM (
        SELECT source, max(attempt) AS newest, min(attempt) AS first FROM network_query_attempt
        WHERE query_id = query AND run = of_run GROUP BY source
      ) AS a
    )
    FROM network_query AS q JOIN network_query_run AS r ON r.query_id = q.id
    WHERE q.id = query AND r.run = of_run;
END $$;
