-- Row-level security reads the account once a statement, as a value that the planner does not see. Where the planner saw it and
-- its statistics did not know the account, as while a new one is filled, it expected no row: every index that begins with the
-- account then seemed as good as the primary key, and a row was found by its id by reading all rows of the account.
-- (docs/decisions/0273-the-planner-does-not-see-the-account.md)

-- Each of these tables is locked until the end. Where a long transaction uses one, as a backup does, this gives up, so that callers
-- do not wait behind it for as long; `migrate` tries again.
SET LOCAL lock_timeout = '2s';
DO $$ DECLARE
  policy record;
BEGIN
  FOR policy IN SELECT tablename, format('account_id = (SELECT current_setting(%L)::uuid)', 'app.account_id') AS own
    FROM pg_policies WHERE policyname = 'own_account' AND tablename <> 'account' AND schemaname = current_schema
  LOOP
    EXECUTE format('ALTER POLICY own_account ON %I USING (%s) WITH CHECK (%2$s)', policy.tablename, policy.own);
  END LOOP;
END $$;

-- The same for tables to come, for which `check_once_a_statement` has nothing left to do.
CREATE OR REPLACE FUNCTION guard_account_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
  EXECUTE format('CREATE POLICY own_account ON %s TO exchange_app
    USING (account_id = (SELECT current_setting(''app.account_id'')::uuid))
    WITH CHECK (account_id = (SELECT current_setting(''app.account_id'')::uuid))', t);
  EXECUTE format('CREATE POLICY every_account ON %s TO exchange_system USING (true) WITH CHECK (true)', t);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO exchange_app, exchange_system', t);
  EXECUTE 'GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO exchange_app, exchange_system';
  PERFORM open_to_backup(t);
END $$;
