-- What would be a transaction of a few statements, and is made with every step of a query: each function takes the
-- role of an account itself, so that BEGIN, SET and COMMIT go. Row-level security applies in each.
-- (docs/decisions/0591-one-statement-where-one-will-do.md)

-- Counts a start of work by a process; false, and nothing counted, if `starts_max` other processes have started it
-- at the same progress and not recorded its end. What a process has started before does not count: it lives.
CREATE FUNCTION record_start(account uuid, named text, at_progress text, process text, starts_max integer)
RETURNS boolean LANGUAGE plpgsql SET role = exchange_app AS $$
BEGIN
  PERFORM set_config('app.account_id', account::text, true);
  INSERT INTO activity_start AS s (account_id, work, progress, starts, processes)
  VALUES (account, named, at_progress, 1, ARRAY[process])
  ON CONFLICT (account_id, work) DO UPDATE SET
    progress = excluded.progress,
    processes = CASE WHEN s.progress = at_progress THEN array_remove(s.processes, process) ELSE '{}' END || process,
    starts = cardinality(CASE WHEN s.progress = at_progress THEN array_remove(s.processes, process) ELSE '{}' END) + 1,
    started_at = now()
  WHERE cardinality(CASE WHEN s.progress = at_progress THEN array_remove(s.processes, process) ELSE '{}' END)
    < starts_max;
  RETURN FOUND;
END $$;

-- Work has ended: it did not end its process.
CREATE FUNCTION forget_start(account uuid, named text) RETURNS void LANGUAGE plpgsql SET role = exchange_app AS $$
BEGIN
  PERFORM set_config('app.account_id', account::text, true);
  DELETE FROM activity_start WHERE work = named;
END $$;

-- The places, from 1, of the values that more than `names_max` last names of the account have.
CREATE FUNCTION places_of_shared(account uuid, given bytea[], names_max integer) RETURNS SETOF integer
LANGUAGE plpgsql STABLE SET role = exchange_app AS $$
BEGIN
  PERFORM set_config('app.account_id', account::text, true);
  RETURN QUERY SELECT each.place::integer FROM unnest(given) WITH ORDINALITY AS each (value, place)
    WHERE last_names_of(account, each.value, names_max + 1) > names_max;
END $$;

-- The workflow of a run exists.
CREATE FUNCTION mark_query_run(account uuid, query uuid, of_run integer) RETURNS void
LANGUAGE plpgsql SET role = exchange_app AS $$
BEGIN
  PERFORM set_config('app.account_id', account::text, true);
  UPDATE network_query_run SET workflow_started_at = now() WHERE query_id = query AND run = of_run;
END $$;

-- What is known when a source is asked about a patient: the newest complete collection by this connection, what the
-- record holds of the source if there is one, what people have decided about candidates, and the newest files.
CREATE FUNCTION known_when_asking(account uuid, patient uuid, of_source text, by_connection text, files_max integer)
RETURNS TABLE (last jsonb, held jsonb, decided jsonb, files jsonb)
LANGUAGE plpgsql STABLE SET role = exchange_app AS $$
BEGIN
  PERFORM set_config('app.account_id', account::text, true);
  SELECT to_jsonb(c) INTO last FROM source_collection AS c
    WHERE c.patient_id = patient AND c.source = of_source AND c.connection = by_connection;
  IF last IS NOT NULL THEN
    SELECT jsonb_agg(jsonb_build_array(r.resource_type, r.source_id, r.content->'meta'->>'lastUpdated')
      ORDER BY r.revision DESC, r.source_id)
    INTO held FROM patient_resource AS r
      WHERE r.patient_id = patient AND r.source = of_source AND r.converted_from IS NULL;
  END IF;
  SELECT jsonb_agg(jsonb_build_array(s.connection, s.source_patient_id, s.status)) INTO decided
    FROM source_candidate AS s WHERE s.patient_id = patient AND s.status <> 'open';
  SELECT jsonb_agg(jsonb_build_array(encode(d.sha256, 'hex'), d.blob_ref) ORDER BY d.created_at DESC) INTO files
    FROM (
      SELECT sha256, blob_ref, created_at FROM document
      WHERE patient_id = patient AND source = of_source AND query_id IS NOT NULL
      ORDER BY created_at DESC LIMIT files_max
    ) AS d;
  RETURN NEXT;
END $$;

-- An attempt that a step works on, with the patient it asks about; none before it is written. Notes in the query's
-- timeline, once, that the source is asked.
CREATE FUNCTION open_attempt(account uuid, query uuid, of_source text, of_attempt integer)
RETURNS TABLE (
  status text, will_retry boolean, reason text, resources integer, pages integer, collected boolean, job jsonb,
  cursor jsonb, failed_calls integer, started_at timestamptz, gateways_chosen_at timestamptz, is_denied boolean,
  patient_id uuid, requested jsonb, purpose_of_use text, session_expires_at timestamptz, facility_ids uuid[],
  first_names text[], last_names text[], dob date, gender text, addresses jsonb, contacts jsonb,
  personal_identifiers jsonb
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
      p.dob, p.gender, p.addresses, p.contacts, p.personal_identifiers
    FROM network_query_attempt AS a JOIN network_query AS q ON q.id = a.query_id JOIN patient AS p ON p.id = q.patient_id
      LEFT JOIN aal2_challenge AS c ON c.id = q.aal2_challenge_id
    WHERE a.query_id = query AND a.source = of_source AND a.attempt = of_attempt;
END $$;

-- Locks a query, so that no other attempt of it ends meanwhile, and then reads what the end of one of its attempts says,
-- in a snapshot after the lock. `ending` is null if the attempt has ended. Runs in the caller's transaction and role.
CREATE FUNCTION lock_end(query uuid, of_source text, of_attempt integer, of_patient uuid)
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
        SELECT o.exclusion AS reason, count(*) AS count FROM record_origin AS o
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

-- The rows of the outbox to send, of several accounts: those given, and with `are_whole` the rows of their messages for
-- all destinations. Without a destination, or of one that is held, they are left out. MATERIALIZED: events are looked up
-- once, not once for each destination.
CREATE FUNCTION event_routes(indexes integer[], accounts uuid[], events uuid[], are_whole boolean[])
RETURNS TABLE (id uuid, destination_id uuid, index integer) LANGUAGE plpgsql STABLE SET role = exchange_system AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH asked AS (
      SELECT * FROM unnest(indexes, accounts, events, are_whole)
        WITH ORDINALITY AS asked (index, account_id, id, is_whole, place)
    ), found AS MATERIALIZED (
      SELECT e.id, e.destination_id, asked.index, asked.place
      FROM asked JOIN event AS e ON e.id = asked.id AND e.account_id = asked.account_id
      WHERE e.status <> 'unrouted'
      UNION ALL
      SELECT e.id, e.destination_id, asked.index, asked.place
      FROM asked JOIN event AS e ON e.copy_of = asked.id AND e.account_id = asked.account_id WHERE asked.is_whole
    )
    SELECT found.id, found.destination_id, found.index
    FROM found JOIN webhook_destination AS d ON d.id = found.destination_id
    WHERE d.held_until IS NULL ORDER BY found.place;
END $$;
