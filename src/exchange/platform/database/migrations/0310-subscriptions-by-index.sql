-- The feed of FHIR Subscriptions is told of changes after their commit, and a resource finds the filters that it passes by its own
-- entries (docs/decisions/0310-a-change-finds-its-filters.md).

-- What changed in a record and has not been told yet: [{resourceType, resourceId, change}]. The changes of a patient are in the order
-- of their commits.
CREATE TABLE record_change (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  changes jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX record_change_of_account ON record_change (account_id, id);
CREATE INDEX record_change_of_patient ON record_change (patient_id);
SELECT guard_account_table('record_change');

-- The filters of subscriptions to the feed, derived from fhir_subscription.filters by a trigger.
CREATE TABLE subscription_filter (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  subscription_id uuid NOT NULL REFERENCES fhir_subscription ON DELETE CASCADE,
  type text NOT NULL,
  -- Null: all.
  patients uuid[],
  -- Lists of codes; an event has one of each.
  triggers jsonb NOT NULL,
  -- How many clauses it has, and codes in all of them; those are in subscription_code.
  clauses integer NOT NULL,
  codes integer NOT NULL
);
CREATE INDEX subscription_filter_of_subscription ON subscription_filter (subscription_id);
CREATE INDEX subscription_filter_of_type ON subscription_filter (account_id, type);

-- The codes of filters, by which a change finds the filters that it may pass.
CREATE TABLE subscription_code (
  account_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  filter_id bigint NOT NULL REFERENCES subscription_filter ON DELETE CASCADE,
  type text NOT NULL,
  -- One of `keys_of_alternative`.
  key text COLLATE "C" NOT NULL,
  -- The clause as a bit, and all of its filter.
  clause bigint NOT NULL,
  clauses bigint NOT NULL
);
CREATE INDEX subscription_code_by_key ON subscription_code (account_id, type, key);
CREATE INDEX subscription_code_of_filter ON subscription_code (filter_id);

-- What an alternative of a clause (`Alternative` in records/rules/search.ts) is found by: `e` for a system and a code, `c` for a code
-- of any system, `s` for any code of a system.
CREATE FUNCTION keys_of_alternative(a jsonb) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'e' || entry FROM jsonb_array_elements_text(a -> 'entries') AS entry WHERE a ->> 'kind' = 'equal'
  UNION ALL SELECT CASE WHEN a ->> 'end' = '' THEN 's' || (a ->> 'start') ELSE 'c' || (a ->> 'start') || (a ->> 'end') END
  WHERE a ->> 'kind' = 'affixes'
$$;

-- The alternatives that an entry of a resource, `name=system|code`, matches, as their keys. A system has a bar rarely, so the first
-- one ends it for `s`, and the last one begins the code for `c`, as in `matches` there.
CREATE FUNCTION keys_of_entry(entry text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['e' || entry,
    'c' || left(entry, strpos(entry, '=')) || '|' || substring(entry FROM '[^|]*$'),
    's' || left(entry, strpos(entry, '|'))]
$$;

-- Derives the rows above from the filters of a subscription.
CREATE FUNCTION index_filters_of(s fhir_subscription) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  f jsonb;
  made bigint;
BEGIN
  DELETE FROM subscription_filter WHERE subscription_id = s.id;
  IF s.topic <> 'patient-data-feed' THEN RETURN; END IF;
  FOR f IN SELECT * FROM jsonb_array_elements(s.filters) LOOP
    INSERT INTO subscription_filter (account_id, subscription_id, type, patients, triggers, clauses, codes)
    VALUES (s.account_id, s.id, f ->> 'type',
      CASE WHEN f -> 'patients' <> 'null' THEN array(SELECT jsonb_array_elements_text(f -> 'patients'))::uuid[] END,
      f -> 'triggers', jsonb_array_length(f -> 'clauses'),
      (SELECT coalesce(sum(jsonb_array_length(clause)), 0) FROM jsonb_array_elements(f -> 'clauses') AS clause))
    RETURNING id INTO made;
    INSERT INTO subscription_code (account_id, subscription_id, filter_id, type, key, clause, clauses)
    SELECT DISTINCT s.account_id, s.id, made, f ->> 'type', key, 1::bigint << (place - 1)::integer,
      (1::bigint << jsonb_array_length(f -> 'clauses')) - 1
    FROM jsonb_array_elements(f -> 'clauses') WITH ORDINALITY AS c(clause, place)
      CROSS JOIN jsonb_array_elements(clause) AS a CROSS JOIN keys_of_alternative(a) AS key;
  END LOOP;
END $$;

CREATE FUNCTION index_changed_filters() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN PERFORM index_filters_of(NEW);
  ELSIF OLD.filters <> NEW.filters OR OLD.topic <> NEW.topic THEN PERFORM index_filters_of(NEW);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER filters_indexed AFTER INSERT OR UPDATE OF filters, topic ON fhir_subscription
  FOR EACH ROW EXECUTE FUNCTION index_changed_filters();

-- Which of these subscriptions to the feed each item passes (0210, `passes_filters`): those without filters, and those of which it
-- passes all filters for its type, and there is one. `items`: [{focus: {type, id}, triggers}], all of one patient. `place`: of the
-- item, from 1. What is the same for all items of a type and trigger is decided once.
CREATE FUNCTION passing_items(of_account uuid, subscriptions uuid[], patient uuid, items jsonb)
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
    FROM item JOIN record_origin o ON o.patient_id = patient AND o.resource_id = item.id CROSS JOIN unnest(o.search) AS e(entry)
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

-- Notes what changed in a patient's record: [{resourceType, resourceId, change}]. False when nobody has subscribed to it.
CREATE FUNCTION note_changes(of_account uuid, patient uuid, changes jsonb) RETURNS boolean LANGUAGE sql AS $$
  WITH noted AS (
    INSERT INTO record_change (account_id, patient_id, changes) SELECT of_account, patient, changes
    WHERE changes IS NOT NULL AND EXISTS (
      SELECT FROM fhir_subscription s WHERE s.account_id = of_account AND s.topic = 'patient-data-feed')
    RETURNING id)
  SELECT EXISTS (SELECT FROM noted)
$$;

-- Tells the subscriptions to `patient-data-feed` what changed, oldest first, and forgets it: so many notes of `record_change`. What
-- is withheld is not told, nor that something has gone from a record of which anything is. Returns the ids of the rows to send.
-- It is told under the subscriptions' lock (`open_subscriptions`), so that numbers have no gap.
CREATE FUNCTION announce_noted_changes(of_account uuid, notes_max integer) RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
  open uuid[] := array(SELECT id FROM open_subscriptions(of_account, 'patient-data-feed'));
  note record_change;
  items jsonb;
BEGIN
  FOR note IN
    WITH gone AS (DELETE FROM record_change WHERE id IN (
      SELECT id FROM record_change WHERE account_id = of_account ORDER BY id LIMIT notes_max) RETURNING *)
    SELECT * FROM gone ORDER BY id
  LOOP
    SELECT jsonb_agg(jsonb_build_object('focus', jsonb_build_object('type', c ->> 'resourceType', 'id', c ->> 'resourceId'),
        'triggers', jsonb_build_array('feed-event', c ->> 'change'))) INTO items
    FROM jsonb_array_elements(note.changes) AS c
    WHERE (c ->> 'resourceId')::uuid NOT IN (SELECT withheld_resources(of_account, note.patient_id))
      AND (c ->> 'change' <> 'delete' OR denied_labels(of_account, note.patient_id) = '{}');
    RETURN QUERY
      WITH numbered AS MATERIALIZED (
        SELECT p.subscription_id, items -> (p.place - 1)::integer AS item,
          row_number() OVER (PARTITION BY p.subscription_id ORDER BY p.place) AS place
        FROM passing_items(of_account, open, note.patient_id, items) AS p WHERE items IS NOT NULL
      ), before AS MATERIALIZED (
        SELECT s.id, s.events, s.max_count FROM fhir_subscription s WHERE s.id IN (SELECT n.subscription_id FROM numbered n)
      ), counted AS (
        UPDATE fhir_subscription s SET events = s.events + n.count
        FROM (SELECT n.subscription_id, count(*) AS count FROM numbered n GROUP BY 1) AS n WHERE s.id = n.subscription_id
      )
      INSERT INTO event (id, account_id, patient_id, destination_id, type, fact_key, body, occurred_at, status, number)
      SELECT gen_random_uuid(), of_account, note.patient_id, b.id, 'subscription.events',
        'subscription/' || b.id || '/' || b.events + max(n.place),
        jsonb_build_object('events', jsonb_agg(n.item ORDER BY n.place)), now(), 'pending', b.events + max(n.place)
      FROM numbered n JOIN before b ON b.id = n.subscription_id
      GROUP BY b.id, b.events, (n.place - 1) / b.max_count ORDER BY b.id, max(n.place)
      RETURNING event.id;
  END LOOP;
END $$;

-- The filters that there are, of all accounts: the owner of the tables reads them while nothing guards them.
SET LOCAL lock_timeout = '2s';
ALTER TABLE fhir_subscription NO FORCE ROW LEVEL SECURITY;
SELECT index_filters_of(s) FROM fhir_subscription s;
ALTER TABLE fhir_subscription FORCE ROW LEVEL SECURITY;
SELECT guard_account_table('subscription_filter');
SELECT guard_account_table('subscription_code');
