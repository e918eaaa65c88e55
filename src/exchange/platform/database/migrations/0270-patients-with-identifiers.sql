-- Who has one of these identifiers (numbers as stored, of any type) in an account. An identifier has one or two holders; PostgreSQL,
-- which does not know that, would read all patients of the account once. `OFFSET 0` makes it look up each identifier by its index.
CREATE FUNCTION holders_of_identifiers(account uuid, wanted text[]) RETURNS SETOF uuid LANGUAGE sql STABLE ROWS 2 AS $$
  SELECT holder.id FROM unnest(wanted) AS given (value), LATERAL (
    SELECT p.id, p.account_id FROM patient p WHERE p.personal_identifiers <> '[]'
      AND p.personal_identifiers @> jsonb_build_array(jsonb_build_object('value', given.value)) OFFSET 0
  ) holder WHERE holder.account_id = account
$$;
REVOKE EXECUTE ON FUNCTION holders_of_identifiers FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holders_of_identifiers TO exchange_system;

-- The same in the caller's account. As exchange_system, because row-level security keeps PostgreSQL from using an index for `@>`,
-- which is not leakproof. (docs/decisions/0116-patients-are-searched-by-trigrams.md)
CREATE FUNCTION patients_with_identifiers(wanted text[]) RETURNS SETOF uuid
LANGUAGE sql STABLE ROWS 2 SET role = exchange_system AS $$
  SELECT holders_of_identifiers(current_setting('app.account_id')::uuid, wanted)
$$;
