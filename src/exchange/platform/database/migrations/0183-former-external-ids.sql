-- A patient whom several systems know keeps the external id of each: the newest in external_id, the others here, latest first.
ALTER TABLE patient ADD COLUMN former_external_ids jsonb NOT NULL DEFAULT '[]';
CREATE INDEX patient_by_former_external_id ON patient USING gin (former_external_ids) WHERE former_external_ids <> '[]';

-- Takes the system's role because row-level security keeps PostgreSQL from using the index: `?` is not leakproof.
CREATE FUNCTION patients_formerly_known_as(external_id text) RETURNS SETOF uuid
LANGUAGE sql STABLE ROWS 1 SET role = exchange_system AS $$
  SELECT p.id FROM patient p WHERE p.account_id = current_setting('app.account_id')::uuid
    AND p.former_external_ids <> '[]' AND p.former_external_ids ? patients_formerly_known_as.external_id
$$;

-- The three functions of the search, which now reads the former ids too (0001-baseline.sql).
CREATE OR REPLACE FUNCTION patient_search_text(p patient) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws(' ',
    array_to_string(p.first_names, ' '), array_to_string(p.last_names, ' '), p.dob::text, p.external_id,
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.former_external_ids, '$[*]') part),
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.personal_identifiers, '$[*].value') part),
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.additional_identifiers, '$.*[*]') part),
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.contacts, '$[*].*') part),
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.addresses, '$[*].*') part))
$$;
CREATE OR REPLACE FUNCTION patients_with_words(words text[], plain_words text[]) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 100 SET role = exchange_system AS $$
DECLARE
  -- One condition per word, because `~ ALL` does not use the index.
  found text := (SELECT string_agg(format('s.text ~ %L', word), ' AND ') FROM unnest(words) word);
BEGIN
  RETURN QUERY EXECUTE
    'SELECT s.patient_id FROM patient_search s WHERE s.account_id = $1 AND ' || found || '
     UNION ALL
     SELECT p.id FROM patient_search s JOIN patient p ON p.id = s.patient_id
     WHERE s.account_id = $1 AND s.text IS NULL AND
       CASE WHEN concat_ws('' '', p.first_names::text, p.last_names::text, p.dob::text, p.external_id, p.former_external_ids::text,
         p.personal_identifiers::text, p.additional_identifiers::text, p.contacts::text, p.addresses::text) ~ ALL ($3)
       THEN patient_search_text(p) ~ ALL ($2) ELSE false END'
    USING current_setting('app.account_id')::uuid, words, plain_words;
END $$;
CREATE OR REPLACE FUNCTION keep_patient_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO patient_search (patient_id, account_id) SELECT id, account_id FROM present;
  ELSIF TG_OP = 'UPDATE' THEN
    -- Also where it is null already: this waits for a concurrent indexing of the former text.
    UPDATE patient_search SET text = NULL FROM present JOIN former USING (id)
    WHERE patient_id = present.id AND
      (present.first_names, present.last_names, present.dob, present.external_id, present.former_external_ids,
       present.personal_identifiers, present.additional_identifiers, present.contacts, present.addresses)
      IS DISTINCT FROM
      (former.first_names, former.last_names, former.dob, former.external_id, former.former_external_ids,
       former.personal_identifiers, former.additional_identifiers, former.contacts, former.addresses);
  ELSE
    DELETE FROM patient_search USING former WHERE patient_id = former.id;
  END IF;
  RETURN NULL;
END $$;
