-- Searching an account's patients by words, with an index (docs/decisions/0116-patients-are-searched-by-trigrams.md).
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- The searched text of each patient. No foreign keys, as in 0004.
CREATE TABLE patient_search (
  patient_id uuid PRIMARY KEY,
  account_id uuid NOT NULL,
  -- Null: new or changed, not indexed yet; searches then read the patient itself.
  text text
);
CREATE INDEX patient_search_by_text ON patient_search USING gin (text gin_trgm_ops) WHERE text IS NOT NULL;
CREATE INDEX patient_search_to_index ON patient_search (account_id) WHERE text IS NULL;
SELECT guard_account_table('patient_search');

-- Values only, not the names of JSON members.
CREATE FUNCTION patient_search_text(p patient) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws(' ',
    array_to_string(p.first_names, ' '), array_to_string(p.last_names, ' '), p.dob::text, p.external_id,
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.personal_identifiers, '$[*].value') part),
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.additional_identifiers, '$.*[*]') part),
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.contacts, '$[*].*') part),
    (SELECT string_agg(part #>> '{}', ' ') FROM jsonb_path_query(p.addresses, '$[*].*') part))
$$;

-- Patients of the transaction's account in whose text all regular expressions are found; `plain_words` are those that look the
-- same in JSON and in arrays, where they are searched first, five times as fast. Takes the system's role because
-- row-level security keeps PostgreSQL from using the index: `~` is not leakproof.
CREATE FUNCTION patients_with_words(words text[], plain_words text[]) RETURNS SETOF uuid
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
       CASE WHEN concat_ws('' '', p.first_names::text, p.last_names::text, p.dob::text, p.external_id,
         p.personal_identifiers::text, p.additional_identifiers::text, p.contacts::text, p.addresses::text) ~ ALL ($3)
       THEN patient_search_text(p) ~ ALL ($2) ELSE false END'
    USING current_setting('app.account_id')::uuid, words, plain_words;
END $$;

CREATE FUNCTION keep_patient_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO patient_search (patient_id, account_id) SELECT id, account_id FROM present;
  ELSIF TG_OP = 'UPDATE' THEN
    -- Also where it is null already: this waits for a concurrent indexing of the former text.
    UPDATE patient_search SET text = NULL FROM present JOIN former USING (id)
    WHERE patient_id = present.id AND
      (present.first_names, present.last_names, present.dob, present.external_id, present.personal_identifiers,
       present.additional_identifiers, present.contacts, present.addresses)
      IS DISTINCT FROM
      (former.first_names, former.last_names, former.dob, former.external_id, former.personal_identifiers,
       former.additional_identifiers, former.contacts, former.addresses);
  ELSE
    DELETE FROM patient_search USING former WHERE patient_id = former.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER created_patients_are_searched AFTER INSERT ON patient REFERENCING NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION keep_patient_search();
CREATE TRIGGER changed_patients_are_searched AFTER UPDATE ON patient
  REFERENCING NEW TABLE AS present OLD TABLE AS former
  FOR EACH STATEMENT EXECUTE FUNCTION keep_patient_search();
CREATE TRIGGER deleted_patients_are_not_searched AFTER DELETE ON patient REFERENCING OLD TABLE AS former
  FOR EACH STATEMENT EXECUTE FUNCTION keep_patient_search();

-- The patients of before.
INSERT INTO patient_search (patient_id, account_id) SELECT id, account_id FROM patient;
