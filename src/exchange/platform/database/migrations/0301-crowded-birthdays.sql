-- Who is found by birth date and names when a patient is compared with the others of the account. The names are whole, so that
-- somebody of the same names is found first among the many who are registered under one day.
SET LOCAL lock_timeout = '2s';

-- The account and a day as one number: no other index fits it, so that PostgreSQL uses the one below although its statistics do not
-- know the account yet. (docs/decisions/0273-the-planner-does-not-see-the-account.md)
CREATE FUNCTION birthday_key(account uuid, born date) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN hashtextextended(account::text, (born - DATE '2000-01-01')::bigint);
CREATE INDEX patient_by_birth_and_names ON patient
  (birthday_key(account_id, dob), (lower(last_names[1])) COLLATE "C", (lower(first_names[1])) COLLATE "C");
DROP INDEX patient_by_birth_and_initials;

-- The same with the initials. Some forty dates are looked up for each patient: a hash index finds each by as many pages in a large
-- table as in a small one.
CREATE FUNCTION initials_key(account uuid, born date, last text, first text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN hashtextextended(account::text || lower(left(last, 1)) || lower(left(first, 1)), (born - DATE '2000-01-01')::bigint);
CREATE INDEX patient_by_birth_and_initials ON patient USING hash (initials_key(account_id, dob, last_names[1], first_names[1]));

-- Those of an account who may be the person by birth date and names: of this day those of the same names, the same last name, one
-- of the initials, and others; of the dates that a typing error makes of it, those with the same initials. Each has a limit, by
-- which a crowd of one day is not read.
CREATE FUNCTION born_alike(account uuid, born date, mistyped date[], last text, first text) RETURNS SETOF uuid
LANGUAGE sql STABLE ROWS 50 SET enable_seqscan = off AS $$
  (SELECT id FROM patient WHERE birthday_key(account_id, dob) = birthday_key(account, born)
    AND lower(last_names[1]) COLLATE "C" = lower(last) AND lower(first_names[1]) COLLATE "C" = lower(first) LIMIT 20)
  UNION
  (SELECT id FROM patient WHERE birthday_key(account_id, dob) = birthday_key(account, born)
    AND lower(last_names[1]) COLLATE "C" = lower(last) LIMIT 20)
  UNION
  (SELECT id FROM patient WHERE birthday_key(account_id, dob) = birthday_key(account, born)
    AND lower(first_names[1]) COLLATE "C" >= left(lower(first), 1)
    AND lower(first_names[1]) COLLATE "C" < left(lower(first), 1) || chr(1114111) LIMIT 10)
  UNION
  (SELECT id FROM patient WHERE birthday_key(account_id, dob) = birthday_key(account, born)
    AND lower(last_names[1]) COLLATE "C" >= left(lower(last), 1)
    AND lower(last_names[1]) COLLATE "C" < left(lower(last), 1) || chr(1114111) LIMIT 10)
  UNION
  (SELECT id FROM patient WHERE birthday_key(account_id, dob) = birthday_key(account, born) LIMIT 10)
  UNION
  (SELECT near.id FROM unnest(mistyped) AS other CROSS JOIN LATERAL (
    SELECT id FROM patient
    WHERE initials_key(account_id, dob, last_names[1], first_names[1]) = initials_key(account, other, last, first) LIMIT 10
  ) near LIMIT 10)
$$;
REVOKE EXECUTE ON FUNCTION born_alike FROM PUBLIC;
GRANT EXECUTE ON FUNCTION born_alike TO exchange_system;

-- The same in the caller's account. As exchange_system, because row-level security keeps PostgreSQL from using an index for `lower`,
-- which is not leakproof: it read all who were born on one of these days.
CREATE FUNCTION patients_born_alike(born date, mistyped date[], last text, first text) RETURNS SETOF uuid
LANGUAGE sql STABLE ROWS 50 SET role = exchange_system AS $$
  SELECT id FROM born_alike(current_setting('app.account_id')::uuid, born, mistyped, last, first) AS found (id)
$$;
