-- How the gateways that an attempt asks stand; nothing for an attempt that asks none.
CREATE FUNCTION gateway_counts(query uuid, of_source text, of_attempt integer)
  RETURNS TABLE (asked integer, found integer, nobody integer, failed integer, waiting integer) LANGUAGE sql STABLE AS $$
  SELECT count(*)::integer, count(*) FILTER (WHERE state = 'found')::integer, count(*) FILTER (WHERE state = 'nobody')::integer,
    count(*) FILTER (WHERE state = 'failed')::integer, count(*) FILTER (WHERE state IN ('open', 'waiting'))::integer
  FROM gateway_ask WHERE query_id = query AND source = of_source AND attempt = of_attempt
$$;
