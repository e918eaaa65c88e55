-- What a patient shares with a household: a hash of each address, phone number and e-mail address, with one of the last name. What
-- more than five last names of an account have is no household's. (docs/decisions/0302-what-many-share-is-counted.md)
CREATE TABLE household_value (
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  account_id uuid NOT NULL,
  value bytea NOT NULL,
  last_name bytea NOT NULL,
  PRIMARY KEY (patient_id, value)
);
CREATE INDEX household_value_by_value ON household_value (account_id, value, last_name);
SELECT guard_account_table('household_value');
SELECT check_once_a_statement('household_value');

-- How many last names of the account have a value, counted up to `most`: each is looked up after the one before, so that thousands of
-- residents cost no more than a few.
CREATE FUNCTION last_names_of(account uuid, shared bytea, most integer) RETURNS integer LANGUAGE sql STABLE AS $$
  WITH RECURSIVE found (last_name, place) AS (
    (SELECT last_name, 1 FROM household_value WHERE account_id = account AND value = shared ORDER BY last_name LIMIT 1)
    UNION ALL
    SELECT next.last_name, place + 1 FROM found CROSS JOIN LATERAL (
      SELECT h.last_name FROM household_value h
      WHERE h.account_id = account AND h.value = shared AND h.last_name > found.last_name ORDER BY h.last_name LIMIT 1
    ) next WHERE place < most
  )
  SELECT count(*)::integer FROM found
$$;

-- Those who are known already are counted when `reconcile` compares them, by the new rules.
INSERT INTO patient_to_compare (account_id, patient_id) SELECT account_id, id FROM patient;
