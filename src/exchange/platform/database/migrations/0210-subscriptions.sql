-- FHIR Subscriptions (docs/subscriptions.md). A subscription is a further webhook destination; what it is told of are rows of the
-- outbox like any other, with the numbers of their events.

-- Its rows are sent as FHIR notifications. In place of a signing key it has channel.header, encrypted alike: the version before cannot
-- sign with that, and so sends it nothing.
ALTER TABLE webhook_destination ADD COLUMN is_subscription boolean NOT NULL DEFAULT false;
-- Of a notification of a subscription: the number of its event, or the last one of its events (body.events).
ALTER TABLE event ADD COLUMN number bigint;
CREATE UNIQUE INDEX event_numbered ON event (destination_id, number) WHERE number IS NOT NULL;

-- What a client wants to be told of. The webhook destination with the same id holds its endpoint, and how that fares.
CREATE TABLE fhir_subscription (
  id uuid PRIMARY KEY REFERENCES webhook_destination ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  -- Who created it, as in the audit, and the scopes of the token; null: those of an API key.
  actor text NOT NULL,
  scopes text[],
  topic text NOT NULL,
  -- The Subscription as it was given, without id, status, error and the values of channel.header.
  resource jsonb NOT NULL,
  content text NOT NULL CHECK (content IN ('empty', 'id-only', 'full-resource')),
  -- [{type, patients, triggers, clauses}], see `Filter` in delivery/subscriptions/rules. Empty: everything of the topic.
  filters jsonb NOT NULL,
  -- The types of which its creator may read; null: all.
  types text[],
  max_count integer NOT NULL,
  timeout_ms integer,
  heartbeat_seconds integer,
  heartbeat_at timestamptz(3) NOT NULL DEFAULT now(),
  ends_at timestamptz(3),
  -- eventsSinceSubscriptionStart: the number of the last event.
  events bigint NOT NULL DEFAULT 0,
  -- When the endpoint accepted the handshake; nothing else is sent before.
  verified_at timestamptz(3),
  -- Why this service has switched it off.
  ended_because text,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX fhir_subscription_by_topic ON fhir_subscription (account_id, topic, id);
CREATE INDEX fhir_subscription_heartbeat ON fhir_subscription (heartbeat_at) WHERE heartbeat_seconds IS NOT NULL;
SELECT guard_account_table('fhir_subscription');

-- The subscriptions of a topic that take events, in one order and locked until the transaction ends: so numbers are given in the
-- order of the commits, without a gap, and two transactions never wait for each other.
CREATE FUNCTION open_subscriptions(of_account uuid, of_topic text) RETURNS SETOF fhir_subscription LANGUAGE sql AS $$
  SELECT s.* FROM fhir_subscription s JOIN webhook_destination d ON d.id = s.id
  WHERE s.account_id = of_account AND s.topic = of_topic AND d.health <> 'disabled' AND coalesce(s.ends_at > now(), true)
  ORDER BY s.id FOR NO KEY UPDATE OF s
$$;

-- Whether one of the deliveries of a resource matches a clause of a search (`matchesAll` in records/rules/search.ts).
CREATE FUNCTION matches_clause(patient uuid, resource uuid, clause jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM record_origin o CROSS JOIN unnest(o.search) AS entry
    WHERE o.patient_id = patient AND o.resource_id = resource AND (entry = '*' OR EXISTS (
      SELECT FROM jsonb_array_elements(clause) AS a
      WHERE a -> 'entries' ? entry
        OR starts_with(entry, a ->> 'start') AND right(entry, length(a ->> 'end')) = a ->> 'end')))
$$;

-- Whether an event passes the filters: those for its type, all of them. Without filters for any type, everything does.
-- `item`: {focus: {type, id}, triggers}.
CREATE FUNCTION passes_filters(s fhir_subscription, patient uuid, item jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT (s.types IS NULL OR item #>> '{focus,type}' = ANY (s.types))
    AND (s.filters = '[]' OR (SELECT coalesce(bool_and(
        (f -> 'patients' = 'null' OR f -> 'patients' ? patient::text)
        AND NOT EXISTS (SELECT FROM jsonb_array_elements(f -> 'triggers') AS alternatives
          WHERE NOT alternatives ?| array(SELECT jsonb_array_elements_text(item -> 'triggers')))
        AND NOT EXISTS (SELECT FROM jsonb_array_elements(f -> 'clauses') AS clause
          WHERE NOT matches_clause(patient, (item #>> '{focus,id}')::uuid, clause))), false)
      FROM jsonb_array_elements(s.filters) AS f WHERE f ->> 'type' = item #>> '{focus,type}'))
$$;

-- Gives numbers to what passes of `items`, and writes it into the outbox, in rows of at most `max_count` events. Returns the ids
-- of the rows. The caller has locked the subscription.
CREATE FUNCTION number_events(s fhir_subscription, patient uuid, items jsonb) RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
  passing jsonb;
BEGIN
  SELECT coalesce(jsonb_agg(item), '[]') INTO passing FROM jsonb_array_elements(items) AS item WHERE passes_filters(s, patient, item);
  IF passing = '[]' THEN RETURN; END IF;
  UPDATE fhir_subscription SET events = events + jsonb_array_length(passing) WHERE id = s.id;
  RETURN QUERY
    INSERT INTO event (id, account_id, patient_id, destination_id, type, fact_key, body, occurred_at, status, number)
    SELECT gen_random_uuid(), s.account_id, patient, s.id, 'subscription.events', 'subscription/' || s.id || '/' || s.events + max(place),
      jsonb_build_object('events', jsonb_agg(item ORDER BY place)), now(), 'pending', s.events + max(place)
    FROM jsonb_array_elements(passing) WITH ORDINALITY AS p(item, place)
    GROUP BY (place - 1) / s.max_count ORDER BY max(place)
    RETURNING event.id;
END $$;

-- Tells the subscriptions to `patient-data-feed` what changed in a patient's record: [{resourceType, resourceId, change}]. What is
-- withheld is not told, nor that something has gone from a record of which anything is. Returns the ids of the rows to send.
CREATE FUNCTION announce_changes(of_account uuid, patient uuid, changes jsonb) RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
  s fhir_subscription;
  items jsonb;
BEGIN
  FOR s IN SELECT * FROM open_subscriptions(of_account, 'patient-data-feed') LOOP
    items := coalesce(items, (
      SELECT coalesce(jsonb_agg(jsonb_build_object('focus', jsonb_build_object('type', c ->> 'resourceType', 'id', c ->> 'resourceId'),
        'triggers', jsonb_build_array('feed-event', c ->> 'change'))), '[]')
      FROM jsonb_array_elements(changes) AS c
      WHERE (c ->> 'resourceId')::uuid NOT IN (SELECT withheld_resources(of_account, patient))
        AND (c ->> 'change' <> 'delete' OR denied_labels(of_account, patient) = '{}')));
    RETURN QUERY SELECT number_events(s, patient, items);
  END LOOP;
END $$;

-- Tells the subscriptions to the topic of a message, if it has one, by copies of it. Their body is that of the message.
CREATE FUNCTION announce_message(of_account uuid, message uuid, of_type text, patient uuid, body jsonb, at timestamptz) RETURNS void
  LANGUAGE plpgsql AS $$
DECLARE
  of_topic text := CASE WHEN of_type IN ('patient.admit', 'patient.transfer', 'patient.discharge') THEN 'encounter-notifications'
    WHEN of_type IN ('network-query.hie', 'network-query.pharmacy', 'network-query.lab') THEN 'query-completed' END;
  s fhir_subscription;
BEGIN
  IF of_topic IS NULL OR patient IS NULL THEN RETURN; END IF;
  FOR s IN SELECT * FROM open_subscriptions(of_account, of_topic) LOOP
    CONTINUE WHEN NOT passes_filters(s, patient, jsonb_build_object('focus', jsonb_build_object('type', 'Patient', 'id', patient),
      'triggers', triggers_of(of_type, body)));
    UPDATE fhir_subscription SET events = events + 1 WHERE id = s.id;
    INSERT INTO event (id, account_id, patient_id, destination_id, copy_of, type, fact_key, occurred_at, status, number)
    VALUES (gen_random_uuid(), of_account, patient, s.id, message, 'subscription.events', 'subscription/' || s.id || '/' || s.events + 1,
      at, 'pending', s.events + 1);
  END LOOP;
END $$;

-- The trigger codes of a message: of an encounter those of HL7 v2, of a query the source and how its answer ended.
CREATE FUNCTION triggers_of(of_type text, body jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE of_type WHEN 'patient.admit' THEN '["A01"]' WHEN 'patient.transfer' THEN '["A02"]' WHEN 'patient.discharge' THEN '["A03"]'
    ELSE jsonb_build_array(split_part(of_type, '.', 2), body #>> '{payload,source,status}') END
$$;

-- A deleted patient is forgotten by filters too. The id that takes its place is nobody's, so that the filter still restricts.
CREATE FUNCTION forget_patient_in_filters() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE fhir_subscription SET filters = replace(filters::text, OLD.id::text, '00000000-0000-0000-0000-000000000000')::jsonb,
    resource = regexp_replace(resource::text, OLD.id::text, '00000000-0000-0000-0000-000000000000', 'gi')::jsonb
  WHERE account_id = OLD.account_id AND strpos(filters::text, OLD.id::text) > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER filters_forget AFTER DELETE ON patient FOR EACH ROW EXECUTE FUNCTION forget_patient_in_filters();
