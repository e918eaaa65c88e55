-- Rights by task (docs/decisions/0079-roles-by-task.md). exchange_app and exchange_system keep what gateways and workers need.
-- exchange_admin, for `npm run admin` and seeding, may also create and change accounts and keys. exchange_backup reads
-- everything and changes nothing. Gateways and workers need a login that is a member of the first two only and owns nothing.

-- As in 0001: where the migrating login may not create roles, an administrator creates and grants them beforehand.
DO $$
DECLARE r text;
BEGIN
  FOREACH r IN ARRAY ARRAY['exchange_admin', 'exchange_backup'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', r);
      EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL;
        WHEN insufficient_privilege THEN
          RAISE EXCEPTION 'The role % does not exist, and this login may not create it', r USING HINT =
            'Run as an administrator: CREATE ROLE exchange_admin NOLOGIN; CREATE ROLE exchange_backup NOLOGIN; '
            'GRANT exchange_system TO exchange_admin; GRANT exchange_admin TO <the login that migrates>;';
      END;
    END IF;
  END LOOP;
  FOR r IN VALUES ('GRANT exchange_system TO exchange_admin'), (format('GRANT exchange_admin TO %I', current_user)) LOOP
    BEGIN
      EXECUTE r;
    EXCEPTION
      WHEN unique_violation OR SQLSTATE 'XX000' THEN NULL;
      WHEN insufficient_privilege THEN
        IF NOT pg_has_role('exchange_admin', 'exchange_system', 'MEMBER')
          OR NOT pg_has_role(current_user, 'exchange_admin', 'MEMBER') THEN RAISE; END IF;
    END;
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA public TO exchange_backup;

-- Every table of an account, as before, and readable for a backup.
CREATE OR REPLACE FUNCTION guard_account_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
  EXECUTE format('CREATE POLICY own_account ON %s TO exchange_app
    USING (account_id = current_setting(''app.account_id'')::uuid)
    WITH CHECK (account_id = current_setting(''app.account_id'')::uuid)', t);
  EXECUTE format('CREATE POLICY every_account ON %s TO exchange_system USING (true) WITH CHECK (true)', t);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO exchange_app, exchange_system', t);
  EXECUTE 'GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO exchange_app, exchange_system';
  PERFORM open_to_backup(t);
END $$;

-- Every table that is not an account's: `SELECT open_to_backup('name')` after creating it.
CREATE FUNCTION open_to_backup(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE POLICY backup ON %s FOR SELECT TO exchange_backup USING (true)', t);
  EXECUTE format('GRANT SELECT ON %s TO exchange_backup', t);
  EXECUTE 'GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO exchange_backup';
END $$;
REVOKE EXECUTE ON FUNCTION open_to_backup FROM PUBLIC;

DO $$
DECLARE t regclass;
BEGIN
  FOR t IN SELECT c.oid::regclass FROM pg_class c
           WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relrowsecurity LOOP
    PERFORM open_to_backup(t);
  END LOOP;
END $$;

-- The migrator's own tables: 0001 granted rights on them together with all others.
REVOKE ALL ON kysely_migration, kysely_migration_lock FROM exchange_app, exchange_system;
GRANT SELECT ON kysely_migration, kysely_migration_lock TO exchange_backup;

-- Accounts, keys and revocations: changed by exchange_admin only. Authentication records the last use of a key.
REVOKE INSERT, UPDATE, DELETE ON account, api_key, embed_token_revocation FROM exchange_system;
GRANT UPDATE (last_used_at) ON api_key TO exchange_system;
GRANT INSERT, UPDATE ON account, api_key TO exchange_admin;
GRANT INSERT, DELETE ON embed_token_revocation TO exchange_admin;

-- What requests of an account do not need: hashes of keys, and the state of the chain and of guarded work.
REVOKE ALL ON api_key, embed_token_revocation, audit_head FROM exchange_app;
-- A head is created and moved, never removed.
REVOKE DELETE ON audit_head FROM exchange_system;
