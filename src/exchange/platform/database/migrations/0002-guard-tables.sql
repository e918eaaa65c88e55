-- Every later migration that makes a table of an account calls `SELECT guard_account_table('name')` after it: row-level
-- security as in 0001, and the rights of the application's two roles.
CREATE FUNCTION guard_account_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
  EXECUTE format('CREATE POLICY own_account ON %s TO exchange_app
    USING (account_id = current_setting(''app.account_id'')::uuid)
    WITH CHECK (account_id = current_setting(''app.account_id'')::uuid)', t);
  EXECUTE format('CREATE POLICY every_account ON %s TO exchange_system USING (true) WITH CHECK (true)', t);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO exchange_app, exchange_system', t);
  EXECUTE 'GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO exchange_app, exchange_system';
END $$;
REVOKE EXECUTE ON FUNCTION guard_account_table FROM PUBLIC;
