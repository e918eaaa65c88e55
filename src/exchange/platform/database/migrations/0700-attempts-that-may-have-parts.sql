-- An attempt that a step works on, with the patient it asks about, as in 0591-one-statement.sql, and whether it has parts, or
-- may get some: most accounts have no connections of their own, and then none need be looked for.
DROP FUNCTION open_attempt(uuid, uuid, text, integer);
CREATE FUNCTION open_attempt(account uuid, query uuid, of_source text, of_attempt integer)
RETURNS TABLE (
  status text, will_retry boolean, reason text, resources integer, pages integer, collected boolean, job jsonb,
  cursor jsonb, failed_calls integer, started_at timestamptz, gateways_chosen_at timestamptz, is_denied boolean,
  patient_id uuid, requested jsonb, purpose_of_use text, session_expires_at timestamptz, facility_ids uuid[],
  first_names text[], last_names text[], dob date, gender text, addresses jsonb, contacts jsonb,
  personal_identifiers jsonb, may_have_parts boolean
)
LANGUAGE plpgsql SET role = exchange_app AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('app.account_id', account::text, true);
  INSERT INTO network_query_timeline (query_id, account_id, source, attempt, kind, message, once_key)
  SELECT query, account, of_source, of_attempt, 'asked', format('Asking the %s source', of_source),
    format('asked/%s/%s', of_source, of_attempt)
  FROM network_query_attempt
  WHERE query_id = query AND source = of_source AND attempt = of_attempt
    AND status = 'running' AND job IS NULL AND cursor IS NULL
  ON CONFLICT DO NOTHING;
  RETURN QUERY
    SELECT a.status, a.will_retry, a.reason, a.resources, a.pages, a.collected, a.job, a.cursor, a.failed_calls,
      a.started_at, a.gateways_chosen_at,
      -- The patient has opted out, or a consent excludes the source.
      EXISTS (SELECT FROM denied_sources(q.patient_id, q.purpose_of_use) AS sources
        WHERE sources = '{}' OR a.source = ANY (sources)),
      q.patient_id, q.requested, q.purpose_of_use, c.session_expires_at, p.facility_ids, p.first_names, p.last_names,
      p.dob, p.gender, p.addresses, p.contacts, p.personal_identifiers,
      a.gateways_chosen_at IS NOT NULL OR EXISTS (SELECT FROM network_connection AS n WHERE n.source = of_source)
        OR EXISTS (SELECT FROM network_query_part AS part
          WHERE part.query_id = query AND part.source = of_source AND part.attempt = of_attempt)
    FROM network_query_attempt AS a JOIN network_query AS q ON q.id = a.query_id JOIN patient AS p ON p.id = q.patient_id
      LEFT JOIN aal2_challenge AS c ON c.id = q.aal2_challenge_id
    WHERE a.query_id = query AND a.source = of_source AND a.attempt = of_attempt;
END $$;
