-- The schema of 0.1.0, the first release, district by district (src/exchange/README.md). Later migrations only add to it.
--
-- Every table of an account carries account_id and is guarded by row-level security: role exchange_app sees the rows of the
-- account that is set for the transaction, role exchange_system sees all. Both are entered at the start of each transaction,
-- never by login. exchange_admin, for `npm run admin` and seeding, may also create and change accounts and keys. exchange_backup
-- reads everything and changes nothing. Gateways and workers need a login that is a member of the first two only and owns nothing
-- (docs/decisions/0002-row-level-security-by-set-role.md, 0079-roles-by-task.md).

-- Roles belong to the whole server. Where the migrating login may not create roles, an administrator creates and grants them
-- beforehand.
DO $$
DECLARE r text;
BEGIN
  FOREACH r IN ARRAY ARRAY['exchange_app', 'exchange_system', 'exchange_admin', 'exchange_backup'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', r);
      EXCEPTION
        -- Another database of this server is migrated at the same time.
        WHEN duplicate_object OR unique_violation THEN NULL;
        WHEN insufficient_privilege THEN
          RAISE EXCEPTION 'The role % does not exist, and this login may not create it', r USING HINT =
            'Run as an administrator: CREATE ROLE exchange_app NOLOGIN; CREATE ROLE exchange_system NOLOGIN; '
            'CREATE ROLE exchange_admin NOLOGIN; CREATE ROLE exchange_backup NOLOGIN; GRANT exchange_system TO exchange_admin; '
            'GRANT exchange_app, exchange_system, exchange_admin TO <the login that migrates>;';
      END;
    END IF;
  END LOOP;
  FOR r IN VALUES ('GRANT exchange_system TO exchange_admin'),
    (format('GRANT exchange_app TO %I', current_user)),
    (format('GRANT exchange_system TO %I', current_user)),
    (format('GRANT exchange_admin TO %I', current_user))
  LOOP
    BEGIN
      EXECUTE r;
    EXCEPTION
      WHEN unique_violation OR SQLSTATE 'XX000' THEN NULL;
      WHEN insufficient_privilege THEN
        IF NOT pg_has_role('exchange_admin', 'exchange_system', 'MEMBER')
          OR NOT pg_has_role(current_user, 'exchange_app', 'MEMBER')
          OR NOT pg_has_role(current_user, 'exchange_admin', 'MEMBER') THEN RAISE; END IF;
    END;
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA public TO exchange_backup;

-- For every table that is not an account's: `SELECT open_to_backup('name')` after creating it.
CREATE FUNCTION open_to_backup(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE POLICY backup ON %s FOR SELECT TO exchange_backup USING (true)', t);
  EXECUTE format('GRANT SELECT ON %s TO exchange_backup', t);
  EXECUTE 'GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO exchange_backup';
END $$;
REVOKE EXECUTE ON FUNCTION open_to_backup FROM PUBLIC;

-- For every table of an account: `SELECT guard_account_table('name')` after creating it. A table that needs less takes rights
-- away again.
CREATE FUNCTION guard_account_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
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
REVOKE EXECUTE ON FUNCTION guard_account_table FROM PUBLIC;

-- For a table that is written in sets: its check reads the account once for a statement instead of once for a row.
CREATE FUNCTION check_once_a_statement(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER POLICY own_account ON %s
    WITH CHECK (account_id = (SELECT current_setting(''app.account_id'')::uuid))', t);
END $$;
REVOKE EXECUTE ON FUNCTION check_once_a_statement FROM PUBLIC;

-- The migrator's own tables.
GRANT SELECT ON kysely_migration, kysely_migration_lock TO exchange_backup;

-- For patient_search.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- ==== access: accounts, keys, FHIR clients, embed tokens ====================================================================

-- A customer of the exchange. Everything that belongs to an account carries its id.
CREATE TABLE account (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  dialect text NOT NULL DEFAULT 'interface' CHECK (dialect IN ('interface', 'published')),
  -- {sources: {hie: {enabled}, …}, limits: {requestsPerMinute, networkQueriesPerMinute, …}}
  settings jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE account ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_account ON account TO exchange_system USING (true) WITH CHECK (true);
CREATE POLICY own_account ON account FOR SELECT TO exchange_app USING (id = current_setting('app.account_id')::uuid);
SELECT open_to_backup('account');
GRANT SELECT ON account TO exchange_app, exchange_system;
GRANT INSERT, UPDATE ON account TO exchange_admin;

-- API keys of an account, as hashes. Created by the admin CLI and by seeding.
CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- The first characters of the key, by which people recognize it.
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- What the key is called, and what it may do.
  label text,
  scopes text[] NOT NULL DEFAULT '{read,write,webhooks-admin}'
    CHECK ((cardinality(scopes) > 0) AND (scopes <@ '{read,write,webhooks-admin}'::text[]))
);
CREATE INDEX api_key_by_account ON api_key (account_id);
SELECT guard_account_table('api_key');
REVOKE INSERT, UPDATE, DELETE ON api_key FROM exchange_system;
REVOKE SELECT, INSERT, UPDATE, DELETE ON api_key FROM exchange_app;
GRANT INSERT, UPDATE ON api_key TO exchange_admin;
-- Authentication records the last use of a key.
GRANT UPDATE (last_used_at) ON api_key TO exchange_system;

-- Keys with these hashes or ids, also those that are no longer valid, with their accounts. As add_audit_entries below, a
-- statement that every request needs: it takes the role of the system itself, without a transaction around it, in one round trip.
CREATE FUNCTION known_api_keys(hashes bytea[], ids uuid[])
RETURNS TABLE (
  key_id uuid, hash bytea, scopes text[], last_used_at timestamptz, state text,
  account_id uuid, dialect text, settings jsonb
)
LANGUAGE plpgsql STABLE SET role = exchange_system AS $$
BEGIN
  RETURN QUERY
    SELECT k.id, k.hash, k.scopes, k.last_used_at,
      CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked' WHEN k.expires_at <= now() THEN 'expired' ELSE 'good' END,
      a.id, a.dialect, a.settings
    FROM api_key k JOIN account a ON a.id = k.account_id
    WHERE k.hash = ANY (hashes) OR k.id = ANY (ids);
END $$;

-- Programs that read the FHIR API with tokens of their own (SMART Backend Services). Registered and revoked by operators.
CREATE TABLE fhir_client (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  label text,
  -- Public keys, or where the client publishes them.
  jwks jsonb,
  jwks_url text,
  scopes text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz,
  CHECK ((jwks IS NULL) <> (jwks_url IS NULL))
);
CREATE INDEX fhir_client_by_account ON fhir_client (account_id);
SELECT guard_account_table('fhir_client');
REVOKE INSERT, UPDATE, DELETE ON fhir_client FROM exchange_system;
REVOKE SELECT, INSERT, UPDATE, DELETE ON fhir_client FROM exchange_app;
GRANT INSERT, UPDATE ON fhir_client TO exchange_admin;

-- Assertions that were used, until they expire.
CREATE TABLE fhir_client_assertion (
  client_id uuid NOT NULL REFERENCES fhir_client,
  account_id uuid NOT NULL REFERENCES account,
  -- SHA-256 of the assertion's id.
  jti_hash bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (client_id, jti_hash)
);
SELECT guard_account_table('fhir_client_assertion');
REVOKE SELECT, INSERT, UPDATE, DELETE ON fhir_client_assertion FROM exchange_app;

-- Embed tokens that were revoked before they expired. Tokens themselves are not stored: they are signed, and say what they may do.
CREATE TABLE embed_token_revocation (
  token_id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- After this time the token is refused anyway, and the row can be deleted.
  expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3) NOT NULL DEFAULT now()
);
SELECT guard_account_table('embed_token_revocation');
REVOKE INSERT, UPDATE, DELETE ON embed_token_revocation FROM exchange_system;
REVOKE SELECT, INSERT, UPDATE, DELETE ON embed_token_revocation FROM exchange_app;
GRANT INSERT, DELETE ON embed_token_revocation TO exchange_admin;

-- ==== platform: audit, requests, recovery ===================================================================================

-- What happened to an account, append-only. The application states what happened; the database states when and in which order: the
-- roles may insert neither id nor time nor place in the chain. Sealing sets position and MAC by UPDATE, a moment after the commit.
-- Entries are chained as they are found, not by id, because a transaction may commit later than one that began after it.
CREATE TABLE audit_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL,
  operation text NOT NULL,
  patient_id uuid,
  target_id text,
  outcome text NOT NULL,
  remote_address text,
  -- Place in the chain of the account; the MAC covers the MAC of the entry before.
  position bigint,
  mac bytea,
  -- Refusals beyond a few of a kind are counted in one entry; `since` is the time of the first.
  times integer NOT NULL DEFAULT 1 CHECK (times > 0),
  since timestamptz,
  -- JSON as text, kept byte by byte because the MAC covers it: what an operator says about entries that were lost.
  details text,
  CHECK ((position IS NULL) = (mac IS NULL))
);
CREATE INDEX audit_entry_by_account ON audit_entry (account_id, id);
CREATE UNIQUE INDEX audit_entry_chain ON audit_entry (account_id, position) WHERE position IS NOT NULL;
CREATE INDEX audit_entry_unsealed ON audit_entry (account_id, id) WHERE position IS NULL;
CREATE INDEX audit_entry_with_details ON audit_entry (account_id, operation) WHERE details IS NOT NULL;
CREATE INDEX audit_entry_by_patient ON audit_entry (account_id, patient_id, at) WHERE patient_id IS NOT NULL;
SELECT guard_account_table('audit_entry');
REVOKE INSERT, UPDATE, DELETE ON audit_entry FROM exchange_app, exchange_system;
GRANT INSERT (account_id, actor, operation, patient_id, target_id, outcome, remote_address, times, since, details)
  ON audit_entry TO exchange_app, exchange_system;
GRANT UPDATE (position, mac) ON audit_entry TO exchange_system;

-- Writes entries of any accounts, committed together.
CREATE FUNCTION add_audit_entries(entries jsonb) RETURNS void
LANGUAGE plpgsql SET role = exchange_system AS $$
BEGIN
  INSERT INTO audit_entry (account_id, actor, operation, patient_id, target_id, outcome, remote_address)
    SELECT e.account_id, e.actor, e.operation, e.patient_id, e.target_id, e.outcome, e.remote_address
    FROM jsonb_to_recordset(entries) AS e (
      account_id uuid, actor text, operation text, patient_id uuid, target_id text, outcome text, remote_address text
    );
END $$;

-- The end of each chain. The process that seals locks the row, so the chain of an account grows at one place only.
CREATE TABLE audit_head (
  account_id uuid PRIMARY KEY REFERENCES account,
  position bigint NOT NULL,
  mac bytea NOT NULL,
  sealed_at timestamptz NOT NULL DEFAULT now()
);
SELECT guard_account_table('audit_head');
REVOKE DELETE ON audit_head FROM exchange_system;
REVOKE SELECT, INSERT, UPDATE, DELETE ON audit_head FROM exchange_app;

-- Responses stored under the hash of an idempotency key, so that a repeated request gets the first response.
CREATE TABLE idempotency_key (
  account_id uuid NOT NULL REFERENCES account,
  key_hash bytea NOT NULL,
  request_hash bytea NOT NULL,
  status integer,
  -- The response, encrypted with the key ring; null while the first request is in progress.
  answer jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The patient whom the response is about; it is deleted with the patient.
  patient_id uuid,
  PRIMARY KEY (account_id, key_hash)
);
CREATE INDEX idempotency_key_by_age ON idempotency_key (created_at);
CREATE INDEX idempotency_key_by_patient ON idempotency_key (account_id, patient_id) WHERE patient_id IS NOT NULL;
SELECT guard_account_table('idempotency_key');

-- How much of a limit an account has used in the current minute. Unlogged: a crash forgets one minute at most.
CREATE UNLOGGED TABLE rate_window (
  account_id uuid NOT NULL REFERENCES account,
  name text NOT NULL,
  window_start timestamptz NOT NULL,
  used integer NOT NULL,
  PRIMARY KEY (account_id, name)
);
SELECT guard_account_table('rate_window');

-- What remains to be done when a patient's rows are gone: blobs to erase, workflows to stop. Written in the transaction that
-- deletes the patient, and contains nothing about the person.
CREATE TABLE erasure (
  kind text NOT NULL CHECK (kind IN ('blob', 'workflow')),
  -- Reference of the blob, or id of the workflow.
  ref text NOT NULL,
  -- Null for messages about persons who are patients of no account.
  account_id uuid REFERENCES account,
  noted_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, ref)
);
CREATE INDEX erasure_by_age ON erasure (noted_at);
CREATE INDEX erasure_by_ref ON erasure (ref);
SELECT guard_account_table('erasure');

-- Every deletion of a row that refers to a blob notes the blob for erasure.
CREATE FUNCTION note_blob_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO erasure (kind, ref, account_id)
  SELECT 'blob', ref, account_id
  FROM (SELECT gone.account_id, coalesce(to_jsonb(gone)->>'blob_ref', to_jsonb(gone)#>>'{result,ref}') AS ref FROM gone) AS refs
  WHERE ref IS NOT NULL
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

-- Starts of activities whose end is not known yet. A row is written before work on foreign data begins and deleted when the
-- work ends in any way; only the end of the process leaves it. Work that ends its process again and again is given up
-- (docs/decisions/0061-work-that-ends-its-process.md). The name holds opaque ids only.
CREATE TABLE activity_start (
  account_id uuid NOT NULL REFERENCES account,
  work text NOT NULL,
  -- How far the work had come: a start at another place counts from one.
  progress text NOT NULL,
  starts integer NOT NULL DEFAULT 1,
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Processes that have started the work and have not recorded its end. A start counts only when its process is gone: a process
  -- that is alive removes itself here, later if PostgreSQL was away.
  processes text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, work)
);
CREATE INDEX activity_start_by_age ON activity_start (started_at);
SELECT guard_account_table('activity_start');

-- How far the workflow reconcile has come, to compare with what Temporal knows: if they differ, one of the two was restored
-- from a backup (docs/decisions/0074-after-a-restore.md). One row.
CREATE TABLE reconcile_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  rounds bigint NOT NULL,
  -- When they last differed. Open work whose workflow was last seen before that is examined again.
  restored_at timestamptz(3)
);
ALTER TABLE reconcile_state ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON reconcile_state TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('reconcile_state');
GRANT SELECT, INSERT, UPDATE, DELETE ON reconcile_state TO exchange_system;

-- The parts of reconcile that an operator has paused. Read in every round, so a pause outlives workers, runs and restarts.
-- No row: not paused.
CREATE TABLE reconcile_pause (
  part text PRIMARY KEY CHECK (part IN ('deleting', 'healing')),
  paused_at timestamptz(3) NOT NULL DEFAULT now(),
  paused_by text NOT NULL,
  reason text NOT NULL
);
ALTER TABLE reconcile_pause ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON reconcile_pause TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('reconcile_pause');
GRANT SELECT, INSERT, UPDATE, DELETE ON reconcile_pause TO exchange_system;

-- ==== platform/outbox: webhooks and their events ============================================================================

-- Where an account's webhooks go: the destination of the settings, which gets all events, and further ones with filters. A
-- destination that fails is held: its events wait, and one of them is sent now and then as a probe. Keys are encrypted with the
-- key ring.
CREATE TABLE webhook_destination (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  url text,
  -- Encrypted with the key ring; null: none yet.
  key text,
  health text NOT NULL DEFAULT 'unknown' CHECK (health IN ('healthy', 'failing', 'disabled', 'unknown')),
  health_at timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- The destination of the settings, of which an account has one.
  of_settings boolean NOT NULL DEFAULT true,
  -- Types and prefixes (`patient.*`) of its events; null: all.
  types text[],
  previous_key text,
  previous_key_until timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Different events that failed one after the other, then the probes that failed. A success sets it to 0.
  failures integer NOT NULL DEFAULT 0,
  failed_event uuid,
  -- Set while the destination is held. The next probe is sent at `held_until`.
  held_since timestamptz(3),
  held_until timestamptz(3),
  -- When the destination's workflow looks at the events next; null: it has none.
  looks_at timestamptz(3)
);
CREATE UNIQUE INDEX webhook_destination_of_settings ON webhook_destination (account_id) WHERE of_settings;
CREATE INDEX webhook_destination_by_account ON webhook_destination (account_id, created_at, id);
SELECT guard_account_table('webhook_destination');

-- The outbox: a state change and its event are one transaction. A row is one message on its way to one destination. The first row
-- of a message goes to the destination of the settings, and its id is the message's; further destinations get copies without a
-- body.
CREATE TABLE event (
  id uuid PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid,
  -- Null if the account had no destination when the event occurred.
  destination_id uuid REFERENCES webhook_destination ON DELETE CASCADE,
  type text NOT NULL,
  -- One fact has one event, however often the step that reports it runs.
  fact_key text NOT NULL,
  request_id uuid,
  body jsonb,
  occurred_at timestamptz NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'delivering', 'delivered', 'dead', 'unrouted')),
  attempts integer NOT NULL DEFAULT 0,
  last_attempt_at timestamptz,
  delivered_at timestamptz,
  -- For a copy: the first row of the message.
  copy_of uuid REFERENCES event ON DELETE CASCADE,
  -- Not before this time; null: now.
  next_attempt_at timestamptz(3),
  -- When the event became due for the first time, or again by a request to resend it.
  opened_at timestamptz(3) NOT NULL DEFAULT now(),
  CHECK ((copy_of IS NULL) = (body IS NOT NULL))
);
CREATE INDEX event_open_by_patient ON event (patient_id, seq) WHERE status IN ('pending', 'delivering');
CREATE INDEX event_by_patient ON event (patient_id) WHERE patient_id IS NOT NULL;
CREATE UNIQUE INDEX event_once ON event (account_id, fact_key) WHERE copy_of IS NULL;
CREATE UNIQUE INDEX event_copy_once ON event (copy_of, destination_id) WHERE copy_of IS NOT NULL;
CREATE INDEX event_copy_by_destination ON event (destination_id) WHERE copy_of IS NOT NULL;
CREATE INDEX event_by_time ON event (account_id, occurred_at) WHERE copy_of IS NULL;
CREATE INDEX event_open_by_destination ON event (destination_id, seq) WHERE status IN ('pending', 'delivering');
CREATE INDEX event_ended ON event (opened_at) WHERE copy_of IS NULL AND status IN ('delivered', 'dead', 'unrouted');
SELECT guard_account_table('event');

-- Each attempt to deliver an event.
CREATE TABLE event_attempt (
  event_id uuid NOT NULL REFERENCES event ON DELETE CASCADE,
  attempt integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  at timestamptz NOT NULL DEFAULT now(),
  http_status integer,
  outcome text NOT NULL,
  PRIMARY KEY (event_id, attempt)
);
SELECT guard_account_table('event_attempt');

-- ==== people: facilities, patients, consents ================================================================================

-- A facility of an account. It can be deleted once it has no patients; requests that named it keep its id.
CREATE TABLE facility (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  oid text NOT NULL,
  name text NOT NULL,
  npi text NOT NULL,
  tin text,
  active boolean NOT NULL DEFAULT true,
  address jsonb NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (account_id, npi)
);
SELECT guard_account_table('facility');

-- A patient of an account. No foreign key to the account: its check of each row slows a bulk create
-- (docs/decisions/0015-bulk-rows-in-sets.md), and an account is not deleted while it has facilities.
CREATE TABLE patient (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL,
  external_id text,
  first_names text[] NOT NULL,
  last_names text[] NOT NULL,
  dob date NOT NULL,
  gender text NOT NULL CHECK (gender IN ('M', 'F', 'O', 'U')),
  addresses jsonb NOT NULL,
  contacts jsonb NOT NULL DEFAULT '[]',
  personal_identifiers jsonb NOT NULL DEFAULT '[]',
  additional_identifiers jsonb NOT NULL DEFAULT '{}',
  facility_ids uuid[] NOT NULL,
  -- Short form of a denial of the hie source; see consent.
  hie_opt_out boolean NOT NULL DEFAULT false,
  treatment_relationship boolean NOT NULL DEFAULT true,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX patient_by_account ON patient (account_id, created_at, id);
CREATE INDEX patient_by_external_id ON patient (account_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX patient_without_treatment ON patient (account_id, id) WHERE NOT treatment_relationship;
CREATE INDEX patient_by_account_and_id ON patient (account_id, id);
CREATE INDEX patient_by_birth_and_zip ON patient (dob, left(((addresses -> 0) ->> 'zip'), 5));
CREATE INDEX patient_by_birth_and_initials ON patient (account_id, dob, lower(left(last_names[1], 1)), lower(left(first_names[1], 1)));
CREATE INDEX patient_by_identifier ON patient USING gin (personal_identifiers jsonb_path_ops) WHERE personal_identifiers <> '[]';
SELECT guard_account_table('patient');
SELECT check_once_a_statement('patient');

-- One keyed hash per zip of a patient: the matching rule of E5, enforced by the database. Without foreign keys, for speed.
CREATE TABLE patient_identity_key (
  account_id uuid NOT NULL,
  key bytea NOT NULL,
  patient_id uuid NOT NULL,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX patient_identity_key_by_patient ON patient_identity_key (patient_id);
SELECT guard_account_table('patient_identity_key');
SELECT check_once_a_statement('patient_identity_key');

-- Takes the place of a foreign key.
CREATE FUNCTION delete_identity_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM patient_identity_key USING gone WHERE patient_id = gone.id;
  RETURN NULL;
END $$;
CREATE TRIGGER patient_keys_go_too AFTER DELETE ON patient REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION delete_identity_keys();

-- Legal holds in force: the patient is not deleted, and nothing about the patient is removed by age. A patient may have several,
-- one per matter. Placed and lifted by operators; a lifted hold leaves the table, and the audit keeps it.
CREATE TABLE legal_hold (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- No ON DELETE CASCADE: the database itself refuses to delete a patient under hold.
  patient_id uuid NOT NULL REFERENCES patient,
  placed_by text NOT NULL,
  reason text NOT NULL,
  placed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX legal_hold_by_patient ON legal_hold (patient_id);
CREATE INDEX legal_hold_by_account ON legal_hold (account_id, placed_at);
SELECT guard_account_table('legal_hold');
REVOKE INSERT, UPDATE, DELETE ON legal_hold FROM exchange_app, exchange_system;
GRANT INSERT, DELETE ON legal_hold TO exchange_admin;

-- Consents of patients: who may be asked for their data, given by whom, on what evidence (docs/decisions/0109-consents.md).
-- A row is never changed, only ended, so the rows are the history.
CREATE TABLE consent (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  decision text NOT NULL CHECK (decision IN ('permit', 'deny')),
  -- Sources and purposes that it is about; empty: all.
  sources text[] NOT NULL DEFAULT '{}',
  purposes text[] NOT NULL DEFAULT '{}',
  -- From when until when it applies; null: without a limit. The end is exclusive.
  period_start timestamptz(3),
  period_end timestamptz(3),
  -- What the FHIR Consent says besides: performer, organization, evidence, policy. Null: made by the flag hieOptOut.
  resource jsonb,
  recorded_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Who recorded and ended it, as in the audit; null for the flag, whose changes the audit has.
  recorded_by text,
  ended_at timestamptz(3),
  ended_by text
);
CREATE INDEX consent_by_patient ON consent (patient_id, recorded_at, id);
SELECT guard_account_table('consent');

-- The flag hieOptOut is the short form of a denial of the hie source, however it is written.
CREATE FUNCTION note_opt_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO consent (id, account_id, patient_id, decision, sources)
    SELECT gen_random_uuid(), account_id, id, 'deny', '{hie}' FROM present WHERE hie_opt_out;
  ELSE
    UPDATE consent SET ended_at = now() FROM present JOIN former USING (id)
    WHERE consent.patient_id = present.id AND consent.resource IS NULL AND consent.ended_at IS NULL
      AND former.hie_opt_out AND NOT present.hie_opt_out;
    INSERT INTO consent (id, account_id, patient_id, decision, sources)
    SELECT gen_random_uuid(), present.account_id, present.id, 'deny', '{hie}' FROM present JOIN former USING (id)
    WHERE present.hie_opt_out AND NOT former.hie_opt_out;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER created_opt_outs_are_consents AFTER INSERT ON patient REFERENCING NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_opt_out();
CREATE TRIGGER changed_opt_outs_are_consents AFTER UPDATE ON patient REFERENCING OLD TABLE AS former NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_opt_out();

-- The searched text of each patient (docs/decisions/0116-patients-are-searched-by-trigrams.md). No foreign keys, for speed.
CREATE TABLE patient_search (
  patient_id uuid PRIMARY KEY,
  account_id uuid NOT NULL,
  -- Null: new or changed, not indexed yet; searches then read the patient itself.
  text text
);
CREATE INDEX patient_search_by_text ON patient_search USING gin (text gin_trgm_ops) WHERE text IS NOT NULL;
CREATE INDEX patient_search_to_index ON patient_search (account_id) WHERE text IS NULL;
SELECT guard_account_table('patient_search');
SELECT check_once_a_statement('patient_search');

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
CREATE TRIGGER changed_patients_are_searched AFTER UPDATE ON patient REFERENCING OLD TABLE AS former NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION keep_patient_search();
CREATE TRIGGER deleted_patients_are_not_searched AFTER DELETE ON patient REFERENCING OLD TABLE AS former
  FOR EACH STATEMENT EXECUTE FUNCTION keep_patient_search();

-- A patient whose matching data is new, until it has been compared with the others. As patient_to_match.
CREATE TABLE patient_to_compare (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX patient_to_compare_by_patient ON patient_to_compare (patient_id);
SELECT guard_account_table('patient_to_compare');
SELECT check_once_a_statement('patient_to_compare');

CREATE FUNCTION note_patient_to_compare() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO patient_to_compare (account_id, patient_id) SELECT account_id, id FROM present;
  ELSE
    INSERT INTO patient_to_compare (account_id, patient_id)
    SELECT present.account_id, present.id FROM present JOIN former USING (id)
    WHERE (present.dob, present.first_names, present.last_names, present.gender, present.addresses, present.contacts,
           present.personal_identifiers)
      IS DISTINCT FROM (former.dob, former.first_names, former.last_names, former.gender, former.addresses, former.contacts,
                        former.personal_identifiers);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER created_patients_are_compared AFTER INSERT ON patient REFERENCING NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_patient_to_compare();
CREATE TRIGGER changed_patients_are_compared AFTER UPDATE ON patient REFERENCING OLD TABLE AS former NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_patient_to_compare();
CREATE FUNCTION delete_patients_to_compare() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM patient_to_compare USING gone WHERE patient_id = gone.id;
  RETURN NULL;
END $$;
CREATE TRIGGER patients_to_compare_go_too AFTER DELETE ON patient REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION delete_patients_to_compare();

-- Pairs of patients that may be one person, for a person to decide (docs/decisions/0108-possible-duplicates.md).
CREATE TABLE possible_duplicate (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- The smaller id first, so that a pair has one row.
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  other_patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  grade text NOT NULL CHECK (grade IN ('certain', 'probable', 'possible')),
  score double precision NOT NULL,
  -- Names of what agrees.
  agrees text[] NOT NULL,
  rules_version integer NOT NULL,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'refused')),
  found_at timestamptz(3) NOT NULL DEFAULT now(),
  decided_at timestamptz(3),
  -- Names of what indicates two people: another SSN, licence, generation or gender.
  contradicts text[] NOT NULL DEFAULT '{}',
  CHECK (patient_id < other_patient_id),
  UNIQUE (patient_id, other_patient_id)
);
CREATE INDEX possible_duplicate_by_account ON possible_duplicate (account_id, found_at, id);
CREATE INDEX possible_duplicate_by_other ON possible_duplicate (other_patient_id);
SELECT guard_account_table('possible_duplicate');

-- ==== people: cohorts and their monitoring ==================================================================================

-- A group of patients with its settings, for example how it is monitored.
CREATE TABLE cohort (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  name text NOT NULL,
  description text NOT NULL,
  color text NOT NULL,
  purpose_of_use text NOT NULL CHECK (purpose_of_use IN ('treatment', 'operations')),
  settings jsonb NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Number of patients without the changes in cohort_size_change.
  patients_counted bigint NOT NULL DEFAULT 0,
  UNIQUE (account_id, name)
);
SELECT guard_account_table('cohort');

-- The patients of a cohort.
CREATE TABLE cohort_member (
  account_id uuid NOT NULL REFERENCES account,
  cohort_id uuid NOT NULL REFERENCES cohort,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (cohort_id, account_id, patient_id)
);
CREATE INDEX cohort_member_by_patient ON cohort_member (patient_id);
SELECT guard_account_table('cohort_member');
SELECT check_once_a_statement('cohort_member');

-- Changes of the number of patients of a cohort since it was counted; `reconcile` adds them up. Each is a row of its own, so that
-- transactions that add patients to one cohort do not wait for each other (docs/decisions/0023-changes-of-whole-cohorts.md).
CREATE TABLE cohort_size_change (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL,
  cohort_id uuid NOT NULL,
  change bigint NOT NULL
);
CREATE INDEX cohort_size_change_by_cohort ON cohort_size_change (cohort_id) INCLUDE (change);
SELECT guard_account_table('cohort_size_change');

CREATE FUNCTION note_cohort_size() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO cohort_size_change (account_id, cohort_id, change)
    SELECT account_id, cohort_id, count(*) FROM changed GROUP BY account_id, cohort_id;
  ELSE
    INSERT INTO cohort_size_change (account_id, cohort_id, change)
    SELECT account_id, cohort_id, -count(*) FROM changed GROUP BY account_id, cohort_id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER added_members_are_counted AFTER INSERT ON cohort_member REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_cohort_size();
CREATE TRIGGER removed_members_are_counted AFTER DELETE ON cohort_member REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_cohort_size();

-- The Temporal Schedules of cohorts, and what they were last written from.
CREATE TABLE cohort_schedule (
  cohort_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('hie', 'pharmacy')),
  account_id uuid NOT NULL REFERENCES account,
  -- As wanted_cohort_schedule had it when the schedule was last written; null: not yet.
  applied jsonb,
  -- Version of the rules (SCHEDULE_RULES) it was written by.
  rules integer,
  -- SHA-256 of how Temporal described the schedule after that; another one means a change from outside.
  fingerprint bytea,
  checked_at timestamptz(3),
  -- The process that writes the schedule has it to itself until then.
  held_until timestamptz(3),
  PRIMARY KEY (cohort_id, kind)
);
CREATE INDEX cohort_schedule_by_check ON cohort_schedule (checked_at);
SELECT guard_account_table('cohort_schedule');

-- What each schedule should be made from.
CREATE VIEW wanted_cohort_schedule WITH (security_invoker = true) AS
SELECT cohort.account_id, cohort.id AS cohort_id, kind, CASE WHEN (schedule->>'enabled')::boolean THEN
    jsonb_build_object(
      'enabled', true,
      'name', cohort.name,
      'frequency', coalesce(schedule->>'frequency', 'monthly'),
      'hours', account.settings->'monitoring',
      'networkQueriesPerMinute', account.settings#>'{limits,networkQueriesPerMinute}'
    )
  ELSE '{"enabled": false}' END AS wanted
FROM cohort JOIN account ON account.id = cohort.account_id
CROSS JOIN LATERAL (VALUES
  ('hie', cohort.settings#>'{monitoring,hie}'),
  ('pharmacy', cohort.settings#>'{monitoring,pharmacy,schedule}')
) AS kinds (kind, schedule);
GRANT SELECT ON wanted_cohort_schedule TO exchange_app, exchange_system;

-- ==== people/bulk-create ====================================================================================================

-- Bulk creates (E5).
CREATE TABLE bulk_request (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  facility_id uuid NOT NULL,
  dry_run boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('waiting', 'processing', 'completed', 'failed', 'expired')),
  paused boolean NOT NULL DEFAULT false,
  reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  upload_expires_at timestamptz(3) NOT NULL,
  upload_begun_at timestamptz(3),
  upload jsonb,
  uploaded_at timestamptz(3),
  layout jsonb,
  rows integer NOT NULL DEFAULT 0,
  handled integer NOT NULL DEFAULT 0,
  created integer NOT NULL DEFAULT 0,
  updated integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  result jsonb,
  ended_at timestamptz(3),
  workflow_started_at timestamptz(3),
  -- Last sign of life of an upload in progress; if it is older than its lease, there is none.
  upload_seen_at timestamptz(3),
  -- When the workflow of the request was signaled about the upload; until then `reconcile` does it.
  upload_announced_at timestamptz(3),
  -- The uploaded CSV is deleted after its retention; its hash and size stay in `upload`.
  upload_deleted_at timestamptz(3),
  -- Time spent on rows: in milliseconds, and since when it goes on (not while paused or ended).
  active_ms bigint NOT NULL DEFAULT 0,
  active_since timestamptz(3)
);
CREATE INDEX bulk_request_by_account ON bulk_request (account_id, created_at DESC, id);
CREATE INDEX bulk_request_open ON bulk_request (created_at) WHERE status IN ('waiting', 'processing');
CREATE INDEX bulk_request_upload_kept ON bulk_request (ended_at) WHERE upload IS NOT NULL AND upload_deleted_at IS NULL;
CREATE INDEX bulk_request_to_sweep ON bulk_request (ended_at) WHERE status = 'completed' AND NOT dry_run;
CREATE INDEX bulk_request_by_upload ON bulk_request ((upload->>'ref'));
CREATE INDEX bulk_request_by_result ON bulk_request ((result->>'ref'));
SELECT guard_account_table('bulk_request');

-- Chunks of an uploaded file. The rows of a chunk and its checkpoint are one transaction; of two that process the same chunk,
-- the late one fails.
CREATE TABLE bulk_chunk (
  request_id uuid NOT NULL REFERENCES bulk_request ON DELETE CASCADE,
  chunk integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  byte_start bigint NOT NULL,
  byte_end bigint NOT NULL,
  first_row integer NOT NULL,
  rows integer NOT NULL,
  created integer NOT NULL DEFAULT 0,
  updated integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  result jsonb,
  completed_at timestamptz,
  PRIMARY KEY (request_id, chunk)
);
CREATE INDEX bulk_chunk_open ON bulk_chunk (request_id, chunk) WHERE completed_at IS NULL;
CREATE INDEX bulk_chunk_by_result ON bulk_chunk ((result->>'ref'));
SELECT guard_account_table('bulk_chunk');

-- The patients that a bulk create created or updated, each once; the sweep works through them.
CREATE TABLE bulk_patient (
  request_id uuid NOT NULL,
  patient_id uuid NOT NULL,
  account_id uuid NOT NULL,
  first_row integer NOT NULL,
  query_id uuid,
  sweep_outcome text CHECK (sweep_outcome IN ('started', 'skipped', 'failed')),
  PRIMARY KEY (request_id, patient_id)
);
CREATE INDEX bulk_patient_to_sweep ON bulk_patient (request_id, first_row, patient_id) WHERE sweep_outcome IS NULL;
CREATE INDEX bulk_patient_by_query ON bulk_patient (query_id) WHERE query_id IS NOT NULL;
SELECT guard_account_table('bulk_patient');
SELECT check_once_a_statement('bulk_patient');

-- Takes the place of a foreign key.
CREATE FUNCTION delete_bulk_patients() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM bulk_patient USING gone WHERE request_id = gone.id;
  RETURN NULL;
END $$;
CREATE TRIGGER bulk_patients_go_too AFTER DELETE ON bulk_request REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION delete_bulk_patients();

-- A dry run writes no patient, but knows which ones its rows would have created: identity keys with the person that would have
-- them, a patient of the account or (first_row set) a new one. Deleted when the result is complete.
CREATE TABLE bulk_trial_key (
  request_id uuid NOT NULL REFERENCES bulk_request ON DELETE CASCADE,
  key bytea NOT NULL,
  account_id uuid NOT NULL,
  person_id uuid NOT NULL,
  first_row integer,
  PRIMARY KEY (request_id, key)
);
SELECT guard_account_table('bulk_trial_key');

-- ==== people/identity =======================================================================================================

-- A verification at the identity partner. After `expires_at` a pending one has expired.
CREATE TABLE identity_session (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  redirect_url text NOT NULL,
  metadata jsonb,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'verified', 'failed')),
  reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3)
);
CREATE INDEX identity_session_by_patient ON identity_session (patient_id);
SELECT guard_account_table('identity_session');

-- A person whom the partner has verified as this patient.
CREATE TABLE proofed_identity (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  session_id uuid NOT NULL UNIQUE REFERENCES identity_session ON DELETE CASCADE,
  -- The partner's own id of the person.
  subject text NOT NULL,
  verified_at timestamptz(3) NOT NULL
);
CREATE INDEX proofed_identity_by_patient ON proofed_identity (patient_id);
SELECT guard_account_table('proofed_identity');

-- A request for two factors to a proofed identity; once passed, it has a session until `session_expires_at`.
CREATE TABLE aal2_challenge (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  proofed_identity_id uuid NOT NULL REFERENCES proofed_identity ON DELETE CASCADE,
  redirect_url text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'verified', 'failed')),
  reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  -- Hash of the session id that the holder presents.
  session_hash bytea UNIQUE,
  session_expires_at timestamptz(3)
);
CREATE INDEX aal2_challenge_by_identity ON aal2_challenge (proofed_identity_id);
SELECT guard_account_table('aal2_challenge');

-- ==== sources: connections, keys, tokens, limits, health ====================================================================

-- The connections of an account to the networks of one kind of source. Created by the admin CLI. An account without any uses the
-- connection that the environment variables describe.
CREATE TABLE network_connection (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  source text NOT NULL CHECK (source IN ('hie', 'pharmacy', 'lab')),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 60),
  base_url text NOT NULL,
  -- Origins, sizes, times and facilities; nothing secret.
  settings jsonb NOT NULL,
  auth_kind text NOT NULL,
  -- Login, client certificate and callback secret, encrypted with the key ring.
  credentials bytea NOT NULL,
  -- Begins the ids of what this connection delivers, because two servers may use the same ids. Empty for the one connection
  -- that continues the server of the environment variables.
  namespace text NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  -- Grows with every change, so that workers notice it.
  revision integer NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  changed_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (account_id, source, name),
  UNIQUE (account_id, source, namespace)
);
SELECT guard_account_table('network_connection');
REVOKE INSERT, UPDATE, DELETE ON network_connection FROM exchange_app;

-- The keys with which we sign client assertions for sources. Their public halves are published as a JWKS; the private ones
-- are encrypted with the key ring.
CREATE TABLE source_signing_key (
  kid text PRIMARY KEY,
  algorithm text NOT NULL CHECK (algorithm IN ('ES384', 'RS384')),
  public_jwk jsonb NOT NULL,
  -- Null once the key is no longer published.
  private_key bytea,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Published earlier than used, so that servers that cache our JWKS know the key by then.
  signs_from timestamptz(3) NOT NULL,
  -- Null: until it is rotated.
  published_until timestamptz(3)
);
ALTER TABLE source_signing_key ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_service ON source_signing_key TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('source_signing_key');
GRANT SELECT, INSERT, UPDATE, DELETE ON source_signing_key TO exchange_system;

-- Access tokens of sources, encrypted with the key ring and shared by all workers.
CREATE TABLE source_token (
  -- The connection, and what the token is for.
  name text PRIMARY KEY,
  sealed bytea,
  renew_at timestamptz(3),
  ends_at timestamptz(3),
  -- One worker at a time requests a token; if it dies, another one may after this time.
  requested_until timestamptz(3),
  -- Scopes that were requested and not granted by the authorization server, so that every worker that uses the shared token can
  -- say so.
  missing_scopes text[]
);
ALTER TABLE source_token ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_service ON source_token TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('source_token');
GRANT SELECT, INSERT, UPDATE, DELETE ON source_token TO exchange_system;

-- The state of each connection to a source, shared by all workers (docs/decisions/0070-a-breaker-for-each-connection.md).
-- No row: the source works. The key is opaque; it names no person and no account.
CREATE TABLE source_connection (
  connection text PRIMARY KEY,
  -- Attempts whose calls failed since the source last answered, at most as many as open the breaker.
  failing text[] NOT NULL DEFAULT '{}',
  -- Why the last call failed; without personal data.
  reason text,
  opened_at timestamptz,
  probes integer NOT NULL DEFAULT 0,
  next_probe_at timestamptz,
  paused_at timestamptz,
  paused_by text,
  pause_reason text
);
ALTER TABLE source_connection ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY readable ON source_connection FOR SELECT TO exchange_app USING (true);
CREATE POLICY service_only ON source_connection TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('source_connection');
GRANT SELECT, INSERT, UPDATE, DELETE ON source_connection TO exchange_system;
GRANT SELECT ON source_connection TO exchange_app;

-- How much of its rates a connection, or a base address that several share, has used. `…_used_until` is the time by which the
-- calls made so far fit the rate (generic cell rate algorithm); `blocked_until` comes from the source (Retry-After).
CREATE TABLE source_budget (
  target text PRIMARY KEY,
  second_used_until timestamptz NOT NULL DEFAULT '-infinity',
  minute_used_until timestamptz NOT NULL DEFAULT '-infinity',
  blocked_until timestamptz NOT NULL DEFAULT '-infinity'
);
ALTER TABLE source_budget ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON source_budget TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('source_budget');
GRANT SELECT, INSERT, UPDATE, DELETE ON source_budget TO exchange_system;

-- Whether a server honours a time in `$everything` and in searches by type, as observed. By connection, like its breaker.
CREATE TABLE source_change_check (
  connection text NOT NULL,
  -- The settings of the connection that it was observed with.
  fingerprint text NOT NULL,
  -- `everything`, a resource type, or `*` after an answer that was older than asked for
  asked text NOT NULL,
  honoured boolean NOT NULL,
  checked_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (connection, asked)
);
ALTER TABLE source_change_check ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_service ON source_change_check TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('source_change_check');
GRANT SELECT, INSERT, UPDATE, DELETE ON source_change_check TO exchange_system;

-- Patients of sources that may be ours and were not taken, for a person to decide
-- (docs/decisions/0163-a-person-decides-on-candidates.md).
CREATE TABLE source_candidate (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  -- The source, or the id of one of its connections.
  connection text NOT NULL,
  source text NOT NULL,
  -- The id of the Patient at the source.
  source_patient_id text NOT NULL,
  grade text NOT NULL,
  agrees text[] NOT NULL,
  contradicts text[] NOT NULL,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'refused')),
  found_at timestamptz(3) NOT NULL DEFAULT now(),
  decided_at timestamptz(3),
  UNIQUE (patient_id, connection, source_patient_id)
);
CREATE INDEX source_candidate_by_account ON source_candidate (account_id, found_at, id);
SELECT guard_account_table('source_candidate');

-- ==== queries: network queries, sweeps, redrives ============================================================================

-- Redrives: one source of many queries that failed is retried, paced. The row holds the filter, the position and the counts; a
-- query's retry and the step to the next position are one transaction, which begins by locking this row.
CREATE TABLE query_redrive (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- Who asked, as in the audit.
  actor text NOT NULL,
  source text NOT NULL CHECK (source IN ('hie', 'pharmacy', 'lab')),
  failed_from timestamptz(3) NOT NULL,
  failed_to timestamptz(3) NOT NULL,
  -- Text within the reason of the failure; null: any reason.
  reason text,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'completed', 'cancelled')),
  -- Matching queries when it began.
  queries integer NOT NULL,
  retried integer NOT NULL DEFAULT 0,
  skipped integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  -- The last query that was examined: when its source failed, and its id.
  after_failed_at timestamptz,
  after_query_id uuid,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  workflow_seen_at timestamptz(3),
  ended_at timestamptz(3)
);
CREATE UNIQUE INDEX query_redrive_open ON query_redrive (account_id, source) WHERE ended_at IS NULL;
SELECT guard_account_table('query_redrive');

-- A query and what was asked; its sources' attempts are rows of their own.
CREATE TABLE network_query (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  purpose_of_use text NOT NULL,
  origin text NOT NULL CHECK (origin IN ('interactive', 'monitoring', 'bulk')),
  metadata jsonb,
  requested jsonb NOT NULL,
  start_errors jsonb NOT NULL DEFAULT '[]',
  status text NOT NULL CHECK (status IN ('running', 'completed', 'partial', 'failed')),
  -- In milliseconds, as its readers have it: a page of the list ends at exactly this value.
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz,
  -- The session under which a query with purpose ias was started. Gone with its identity: then no source is queried any more.
  aal2_challenge_id uuid REFERENCES aal2_challenge ON DELETE SET NULL
);
CREATE INDEX network_query_by_account ON network_query (account_id, started_at DESC, id);
CREATE INDEX network_query_by_patient ON network_query (patient_id, started_at DESC);
CREATE INDEX network_query_running_bulk ON network_query (account_id, id) WHERE status = 'running' AND origin = 'bulk';
CREATE INDEX network_query_by_challenge ON network_query (aal2_challenge_id) WHERE aal2_challenge_id IS NOT NULL;
CREATE INDEX network_query_refused ON network_query (account_id, started_at, id) WHERE start_errors <> '[]';
SELECT guard_account_table('network_query');

-- One workflow execution on a query: run 0 is the query itself, later ones take up single sources after its end.
CREATE TABLE network_query_run (
  query_id uuid NOT NULL REFERENCES network_query ON DELETE CASCADE,
  run integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  sources text[] NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  workflow_started_at timestamptz,
  ended_at timestamptz,
  -- Which redrive began the run; null for all others.
  redrive_id uuid REFERENCES query_redrive,
  PRIMARY KEY (query_id, run)
);
CREATE INDEX network_query_run_open ON network_query_run (requested_at) WHERE ended_at IS NULL;
CREATE INDEX network_query_run_by_redrive ON network_query_run (redrive_id, query_id) WHERE redrive_id IS NOT NULL;
SELECT guard_account_table('network_query_run');

-- An attempt at a source. A further attempt follows when the source has accepted the request and then failed.
CREATE TABLE network_query_attempt (
  query_id uuid NOT NULL REFERENCES network_query ON DELETE CASCADE,
  source text NOT NULL CHECK (source IN ('hie', 'pharmacy', 'lab')),
  attempt integer NOT NULL,
  run integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  status text NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
  -- A further attempt of this source is due, so the query goes on although this one failed.
  will_retry boolean NOT NULL DEFAULT false,
  reason text,
  started_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  callback_hash bytea UNIQUE,
  callback_at timestamptz,
  -- The source's handle for an accepted request, and where to go on collecting; both opaque to us.
  job jsonb,
  cursor jsonb,
  collected boolean NOT NULL DEFAULT false,
  pages integer NOT NULL DEFAULT 0,
  resources integer NOT NULL DEFAULT 0,
  strays integer NOT NULL DEFAULT 0,
  documents integer NOT NULL DEFAULT 0,
  -- The failed calls of an attempt at its source: how many in a row, since when, and until when and why the attempt waits
  -- before it calls again. All are reset when the source answers.
  failed_calls integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  waiting_for text,
  next_try_at timestamptz,
  -- What becomes its row in source_collection, and since when it asks for changes.
  collection jsonb,
  PRIMARY KEY (query_id, source, attempt)
);
CREATE INDEX network_query_attempt_waiting ON network_query_attempt (source) WHERE next_try_at IS NOT NULL;
CREATE INDEX network_query_attempt_failed ON network_query_attempt (account_id, source, completed_at, query_id)
  WHERE status = 'failed' AND NOT will_retry;
SELECT guard_account_table('network_query_attempt');

-- One connection's share of an attempt. An attempt without parts asks the connection of the environment variables, and its
-- own row holds what these columns hold here.
CREATE TABLE network_query_part (
  query_id uuid NOT NULL,
  source text NOT NULL,
  attempt integer NOT NULL,
  -- Not a foreign key: the connection may be deleted while the attempt runs.
  connection_id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  name text NOT NULL,
  namespace text NOT NULL,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'failed')),
  reason text,
  started_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  job jsonb,
  cursor jsonb,
  collected boolean NOT NULL DEFAULT false,
  pages integer NOT NULL DEFAULT 0,
  resources integer NOT NULL DEFAULT 0,
  strays integer NOT NULL DEFAULT 0,
  documents integer NOT NULL DEFAULT 0,
  failed_calls integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  waiting_for text,
  next_try_at timestamptz,
  -- How often the connection accepted the request and then failed.
  failed_tries integer NOT NULL DEFAULT 0,
  -- As in network_query_attempt.
  collection jsonb,
  PRIMARY KEY (query_id, source, attempt, connection_id),
  FOREIGN KEY (query_id, source, attempt) REFERENCES network_query_attempt ON DELETE CASCADE
);
SELECT guard_account_table('network_query_part');

-- What happened in a query, for callers and operators; never a person's data.
CREATE TABLE network_query_timeline (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  query_id uuid NOT NULL REFERENCES network_query ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  source text,
  attempt integer,
  kind text NOT NULL,
  message text NOT NULL,
  -- What is noted at most once, however often the step that notes it runs.
  once_key text,
  -- Whether the patient's record lacks something because of what the entry reports.
  is_gap boolean NOT NULL DEFAULT false,
  UNIQUE (query_id, once_key)
);
CREATE INDEX network_query_timeline_by_query ON network_query_timeline (query_id, id);
CREATE INDEX network_query_timeline_by_age ON network_query_timeline (at) WHERE NOT is_gap;
SELECT guard_account_table('network_query_timeline');

-- Jobs at sources whose results are not collected any more, for example because the patient was deleted, until the source has
-- acknowledged their cancellation or a day has passed.
CREATE TABLE abandoned_job (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id uuid NOT NULL REFERENCES account,
  query_id uuid NOT NULL,
  source text NOT NULL,
  attempt integer NOT NULL,
  -- Null: the one connection of the environment variables.
  connection_id uuid,
  purpose_of_use text NOT NULL,
  job jsonb NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT now(),
  -- When the source last failed to acknowledge the cancellation.
  tried_at timestamptz(3)
);
CREATE INDEX abandoned_job_by_attempt ON abandoned_job (query_id, source, attempt);
CREATE INDEX abandoned_job_by_age ON abandoned_job (noted_at);
SELECT guard_account_table('abandoned_job');

-- For each patient and connection: how the newest complete collection went, so that the next query may ask only for what has
-- changed (docs/decisions/0127-a-second-query-asks-what-is-new.md). The row is taken when a collection begins, and written
-- when it has completed without a gap: no row means that everything is asked for.
CREATE TABLE source_collection (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  -- The id of the account's connection; empty for the one of the environment variables.
  connection text NOT NULL,
  -- What decided which data was asked for: demographics, connection, types (a hash).
  basis text NOT NULL,
  -- The person's Patient ids at the source.
  patient_ids text[] NOT NULL,
  -- When everything was last asked for, and when anything was.
  full_at timestamptz NOT NULL,
  asked_at timestamptz NOT NULL,
  -- By type: by how much the source's own count of its resources differs from ours after a complete collection; it also counts what
  -- we do not keep.
  differences jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (patient_id, source, connection)
);
SELECT guard_account_table('source_collection');

-- The queries that follow a bulk create (querySweep). Marks on bulk_patient, counts here and the queries themselves are written
-- in one transaction, which begins by locking the sweep's row.
CREATE TABLE bulk_sweep (
  request_id uuid PRIMARY KEY REFERENCES bulk_request ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'completed', 'cancelled')),
  patients integer NOT NULL,
  started integer NOT NULL DEFAULT 0,
  skipped integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  -- Last sign of life of its workflow.
  seen_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3)
);
CREATE INDEX bulk_sweep_open ON bulk_sweep (seen_at) WHERE ended_at IS NULL;
SELECT guard_account_table('bulk_sweep');

-- ==== messaging: messages between providers, notifications ==================================================================

-- Messages between providers, in both directions.
CREATE TABLE message (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid REFERENCES patient ON DELETE CASCADE,
  direction text NOT NULL CHECK (direction IN ('outbound', 'inbound')),
  status text NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  transport_method text NOT NULL CHECK (transport_method IN ('xdr', 'direct')),
  network text CHECK (network IN ('EHEX', 'CAREQUALITY', 'COMMONWELL')),
  destination text NOT NULL,
  subject text NOT NULL,
  body text,
  -- Ids of documents of the patient.
  attachments uuid[] NOT NULL DEFAULT '{}',
  intended_recipient_npi text[] NOT NULL DEFAULT '{}',
  reason text,
  -- Hash of the transport partner's own id of an inbound message.
  partner_key bytea,
  -- In milliseconds, as its readers have it.
  sent_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  workflow_started_at timestamptz(3),
  -- Its attachments are still to be converted and merged into the patient's record.
  to_be_read boolean NOT NULL DEFAULT false,
  CHECK ((transport_method = 'xdr') = (network IS NOT NULL)),
  UNIQUE (account_id, partner_key)
);
CREATE INDEX message_by_account ON message (account_id, sent_at DESC, id);
CREATE INDEX message_by_patient ON message (patient_id, sent_at DESC, id);
CREATE INDEX message_open ON message (sent_at) WHERE direction = 'outbound' AND status = 'processing';
CREATE INDEX message_to_be_read ON message (sent_at) WHERE to_be_read;
SELECT guard_account_table('message');

-- One encounter, fill or result of a sender, as all its messages together describe it. Personal data stays in the blobs of
-- messages.
CREATE TABLE inbound_subject (
  id uuid PRIMARY KEY,
  sender text NOT NULL,
  kind text NOT NULL,
  source_key bytea NOT NULL,
  -- Of the newest message: the record of the sender it belonged to.
  record_key bytea,
  state jsonb,
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Whom the messages describe: keyed hashes of birth date and zip.
  match_keys bytea[],
  CONSTRAINT inbound_subject_kind CHECK (kind IN ('encounter', 'pharmacy', 'laboratory', 'clinical')),
  UNIQUE (sender, kind, source_key)
);
CREATE INDEX inbound_subject_by_record ON inbound_subject (sender, record_key);
CREATE INDEX inbound_subject_by_match_key ON inbound_subject USING gin (match_keys);
ALTER TABLE inbound_subject ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON inbound_subject TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('inbound_subject');
GRANT SELECT, INSERT, UPDATE, DELETE ON inbound_subject TO exchange_system;

-- One message of a sender, known by the sender, the sender's id of it and its content: counters start again, and two applications
-- behind one sender may use the same numbers. message_key stands for all three, control_key for the id alone.
CREATE TABLE inbound_message (
  id uuid PRIMARY KEY,
  sender text NOT NULL,
  message_key bytea NOT NULL,
  format text NOT NULL CHECK (format IN ('hl7v2', 'fhir')),
  kind text NOT NULL,
  trigger text NOT NULL,
  recorded_at timestamptz(3) NOT NULL,
  sent_at timestamptz(3),
  received_at timestamptz(3) NOT NULL DEFAULT now(),
  content jsonb NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('matched', 'not-monitored', 'unmatched', 'ambiguous', 'incomplete', 'merged')),
  -- IANA time zone of the sender's times without an offset, as configured when the message arrived.
  time_zone text NOT NULL,
  control_key bytea NOT NULL,
  -- An earlier message of the sender has the same id and another content.
  is_number_reused boolean NOT NULL DEFAULT false,
  -- What an HL7 v2 message contains and we do not use: names of fields and segments (PID-13, NK1), never values. For operators.
  unused text[] NOT NULL DEFAULT '{}',
  CONSTRAINT inbound_message_kind CHECK (kind IN ('encounter', 'pharmacy', 'laboratory', 'clinical', 'merge', 'person')),
  UNIQUE (sender, message_key)
);
CREATE INDEX inbound_message_unmatched ON inbound_message (received_at DESC, id)
  WHERE outcome IN ('unmatched', 'ambiguous', 'incomplete');
CREATE INDEX inbound_message_by_content ON inbound_message ((content->>'ref'));
CREATE INDEX inbound_message_by_control ON inbound_message (sender, control_key);
ALTER TABLE inbound_message ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON inbound_message TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('inbound_message');
GRANT SELECT, INSERT, UPDATE, DELETE ON inbound_message TO exchange_system;

-- What a message reports about a subject.
CREATE TABLE inbound_event (
  subject_id uuid NOT NULL REFERENCES inbound_subject ON DELETE CASCADE,
  message_id uuid NOT NULL REFERENCES inbound_message ON DELETE CASCADE,
  record_key bytea,
  -- Whether the message describes a person well enough to find them.
  describes_person boolean NOT NULL,
  content jsonb NOT NULL,
  PRIMARY KEY (subject_id, message_id)
);
CREATE INDEX inbound_event_by_message ON inbound_event (message_id);
ALTER TABLE inbound_event ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON inbound_event TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('inbound_event');
GRANT SELECT, INSERT, UPDATE, DELETE ON inbound_event TO exchange_system;

-- A sender's record was merged into another one.
CREATE TABLE inbound_merge (
  message_id uuid PRIMARY KEY REFERENCES inbound_message ON DELETE CASCADE,
  sender text NOT NULL,
  prior_key bytea NOT NULL,
  surviving_key bytea NOT NULL,
  recorded_at timestamptz(3) NOT NULL
);
CREATE INDEX inbound_merge_by_prior ON inbound_merge (sender, prior_key);
CREATE INDEX inbound_merge_by_surviving ON inbound_merge (sender, surviving_key);
ALTER TABLE inbound_merge ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_only ON inbound_merge TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('inbound_merge');
GRANT SELECT, INSERT, UPDATE, DELETE ON inbound_merge TO exchange_system;

-- A fact that an account was notified of about one of its patients, once.
CREATE TABLE notification (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  subject_id uuid NOT NULL REFERENCES inbound_subject ON DELETE CASCADE,
  type text NOT NULL,
  fact_key text NOT NULL,
  sender text NOT NULL,
  occurred_at timestamptz(3),
  sent_at timestamptz(3),
  notified_at timestamptz(3) NOT NULL DEFAULT now(),
  -- The sender has withdrawn it, or it was about another person.
  withdrawn_at timestamptz(3),
  UNIQUE (patient_id, subject_id, fact_key)
);
CREATE INDEX notification_by_account ON notification (account_id, notified_at DESC, id);
CREATE INDEX notification_by_patient ON notification (patient_id, notified_at DESC, id);
CREATE INDEX notification_by_subject ON notification (subject_id);
SELECT guard_account_table('notification');

-- After a discharge the hie source is queried again until it has something new.
CREATE TABLE discharge_follow_up (
  notification_id uuid PRIMARY KEY REFERENCES notification ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'new-data', 'no-new-data', 'cancelled')),
  reason text,
  rounds integer NOT NULL DEFAULT 0,
  query_ids uuid[] NOT NULL DEFAULT '{}',
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3),
  workflow_started_at timestamptz(3)
);
CREATE UNIQUE INDEX discharge_follow_up_open ON discharge_follow_up (patient_id) WHERE state = 'open';
CREATE INDEX discharge_follow_up_to_ensure ON discharge_follow_up (started_at) WHERE state = 'open';
CREATE INDEX discharge_follow_up_by_patient ON discharge_follow_up (patient_id);
SELECT guard_account_table('discharge_follow_up');

-- A patient whose matching data is new, until the messages in question have been matched again. Every change is a row of its own,
-- so that none is lost while the patient is worked on (docs/decisions/0027-matching-notifications.md). No foreign keys, for
-- speed.
CREATE TABLE patient_to_match (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT now(),
  -- The last subject that was matched again, in the order of ids.
  matched_until uuid
);
CREATE INDEX patient_to_match_by_patient ON patient_to_match (patient_id);
SELECT guard_account_table('patient_to_match');
SELECT check_once_a_statement('patient_to_match');

CREATE FUNCTION note_patient_to_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO patient_to_match (account_id, patient_id) SELECT account_id, id FROM present;
  ELSE
    INSERT INTO patient_to_match (account_id, patient_id)
    SELECT present.account_id, present.id FROM present JOIN former USING (id)
    WHERE (present.dob, present.first_names, present.last_names, present.gender, present.addresses)
      IS DISTINCT FROM (former.dob, former.first_names, former.last_names, former.gender, former.addresses);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER created_patients_are_matched AFTER INSERT ON patient REFERENCING NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_patient_to_match();
CREATE TRIGGER changed_patients_are_matched AFTER UPDATE ON patient REFERENCING OLD TABLE AS former NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_patient_to_match();
CREATE FUNCTION delete_patients_to_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM patient_to_match USING gone WHERE patient_id = gone.id;
  RETURN NULL;
END $$;
CREATE TRIGGER patients_to_match_go_too AFTER DELETE ON patient REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION delete_patients_to_match();

-- A subject that an account was notified of, and how far the patient’s record follows it
-- (docs/decisions/0105-what-a-message-reports-becomes-record.md).
CREATE TABLE recorded_subject (
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  subject_id uuid NOT NULL REFERENCES inbound_subject ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  -- False: the sender has since reported that the subject is about another person.
  is_about boolean NOT NULL,
  -- Raised by each message that may change what is recorded; `recorded` follows.
  wanted integer NOT NULL DEFAULT 1,
  recorded integer NOT NULL DEFAULT 0,
  -- Its C-CDA documents are still to be converted.
  to_be_read boolean NOT NULL DEFAULT false,
  changed_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (patient_id, subject_id)
);
CREATE INDEX recorded_subject_by_subject ON recorded_subject (subject_id);
CREATE INDEX recorded_subject_to_record ON recorded_subject (changed_at) WHERE (wanted > recorded) OR to_be_read;
SELECT guard_account_table('recorded_subject');

-- ==== records: what sources delivered, and the record made of it ============================================================

-- Every answer of a source and every document, as received; the bytes are in the blob store. Delivered by a query, a message
-- between providers, or a notification.
CREATE TABLE document (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid REFERENCES patient ON DELETE CASCADE,
  -- One of query_id, message_id and subject_id says what delivered it.
  query_id uuid,
  source text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('page', 'attachment')),
  source_document_id text,
  file_name text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 bytea NOT NULL,
  blob_ref text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  message_id uuid REFERENCES message ON DELETE CASCADE,
  subject_id uuid REFERENCES inbound_subject ON DELETE CASCADE,
  -- Of a notification: the value of recorded_subject.wanted that it was recorded for.
  delivery integer,
  CONSTRAINT document_has_patient CHECK ((patient_id IS NOT NULL) OR (message_id IS NOT NULL)),
  CONSTRAINT document_delivered_once CHECK (num_nonnulls(query_id, message_id, subject_id) = 1),
  CONSTRAINT document_delivery CHECK ((subject_id IS NULL) = (delivery IS NULL)),
  UNIQUE (account_id, file_name)
);
CREATE INDEX document_by_patient ON document (patient_id, created_at);
CREATE INDEX document_by_message ON document (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX document_by_blob ON document (blob_ref);
CREATE INDEX document_by_subject ON document (subject_id) WHERE subject_id IS NOT NULL;
SELECT guard_account_table('document');

CREATE TRIGGER note_blob_erasure AFTER DELETE ON document REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION note_blob_erasure();

-- What became of each C-CDA document.
CREATE TABLE document_conversion (
  document_id uuid PRIMARY KEY REFERENCES document ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  outcome text NOT NULL CHECK (outcome IN ('converted', 'superseded', 'not-cda', 'skipped', 'failed')),
  reason text,
  resources integer NOT NULL DEFAULT 0,
  converted_at timestamptz NOT NULL DEFAULT now(),
  -- Version of the rules (CONVERSION_RULES) by which it was converted. A document converted by older rules is converted again.
  rules integer NOT NULL DEFAULT 0
);
CREATE INDEX document_conversion_by_patient ON document_conversion (patient_id);
SELECT guard_account_table('document_conversion');

-- What was collected, each resource once by its identity at the source. No foreign key to the account: a query writes some two
-- thousand rows here, each is checked against its patient, and row-level security lets callers write to their own account only.
CREATE TABLE patient_resource (
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  resource_type text NOT NULL,
  source_id text NOT NULL,
  document_id uuid NOT NULL,
  sha256 bytea NOT NULL,
  content jsonb NOT NULL,
  collected_at timestamptz NOT NULL DEFAULT now(),
  -- When and as which version its source wrote it, in text order; empty if the source does not say.
  revision text COLLATE "C" NOT NULL DEFAULT '',
  -- The source's id of the C-CDA document that it was made from.
  converted_from text,
  PRIMARY KEY (patient_id, source, resource_type, source_id)
);
CREATE INDEX patient_resource_converted ON patient_resource (patient_id, source, converted_from) WHERE converted_from IS NOT NULL;
SELECT guard_account_table('patient_resource');

-- A resource that its source deleted or moved to another person. It is no longer in patient_resource, nor in the record.
CREATE TABLE retired_resource (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  resource_type text NOT NULL,
  source_id text NOT NULL,
  document_id uuid NOT NULL,
  sha256 bytea NOT NULL,
  content jsonb NOT NULL,
  revision text COLLATE "C" NOT NULL,
  converted_from text,
  collected_at timestamptz NOT NULL,
  retired_at timestamptz NOT NULL DEFAULT now(),
  -- `deleted`: the source no longer has it. `moved`: the source says that it is about another person.
  reason text NOT NULL CHECK (reason IN ('deleted', 'moved')),
  -- What noticed it: an attempt of a query, or a message about the subject.
  query_id uuid,
  attempt integer,
  subject_id uuid,
  PRIMARY KEY (patient_id, source, resource_type, source_id, retired_at),
  CONSTRAINT retired_by_one CHECK (num_nonnulls(query_id, subject_id) = 1)
);
CREATE INDEX retired_resource_by_query ON retired_resource (query_id, source, attempt);
CREATE INDEX retired_resource_by_time ON retired_resource (retired_at);
SELECT guard_account_table('retired_resource');

-- What each page of a running attempt contained, so that its end can find what the whole answer no longer contains. Deleted when
-- the attempt ends.
CREATE TABLE answered_page (
  query_id uuid NOT NULL REFERENCES network_query ON DELETE CASCADE,
  source text NOT NULL,
  attempt integer NOT NULL,
  -- How many pages of the attempt came before.
  page integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  -- `Observation/42`
  resources text[] NOT NULL,
  -- The source reported errors with this page: what is missing may just have failed.
  is_partial boolean NOT NULL,
  -- Which connection answered with the page; null where the attempt has no parts.
  connection_id uuid,
  PRIMARY KEY (query_id, source, attempt, page)
);
SELECT guard_account_table('answered_page');

-- The ids under which a source knows a person: its resources must refer to one of them.
CREATE TABLE patient_at_source (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  source_patient_id text NOT NULL,
  PRIMARY KEY (patient_id, source, source_patient_id)
);
SELECT guard_account_table('patient_at_source');

-- What the merge knows of each delivery; one whose hash differs from the one in patient_resource is yet to be merged. Contents
-- stay in patient_resource and are combined when read, so that nothing is stored twice.
CREATE TABLE record_origin (
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  resource_type text NOT NULL,
  source_id text NOT NULL,
  sha256 bytea NOT NULL,
  -- Number of the rules it was merged by.
  rules integer NOT NULL,
  -- The consolidated resource it belongs to; null when it is excluded.
  resource_id uuid,
  -- Why it is not part of the record; null when it is.
  exclusion text,
  keys text[] COLLATE "C" NOT NULL,
  rank text COLLATE "C" NOT NULL,
  -- Its statement is the one that the consolidated resource shows.
  leads boolean NOT NULL,
  -- The Medication of the source whose code is among the keys.
  medication_id text,
  sort_date text COLLATE "C" NOT NULL,
  date_from date,
  date_to date,
  -- What of a delivery must not get lost when it is united with others.
  assertions jsonb NOT NULL DEFAULT '{}',
  -- Shared by all that share keys, directly or through others; they are grouped together. record_key.resource_id is also one.
  family_id uuid,
  -- What a delivery can be found by: `code=http://loinc.org|8480-6`, `date@…` (records/rules/search-index.ts).
  search text[] COLLATE "C" NOT NULL DEFAULT '{}',
  -- An earlier version of a statement, of which nothing counts any more; it belongs to the resource of the newest one.
  superseded boolean NOT NULL DEFAULT false,
  PRIMARY KEY (patient_id, source, resource_type, source_id)
);
CREATE INDEX record_origin_by_resource ON record_origin (patient_id, resource_id);
CREATE INDEX record_origin_leading ON record_origin (patient_id, resource_type, sort_date DESC, resource_id DESC) WHERE leads;
CREATE INDEX record_origin_by_medication ON record_origin (patient_id, source, medication_id) WHERE medication_id IS NOT NULL;
CREATE INDEX record_origin_by_family ON record_origin (patient_id, family_id);
SELECT guard_account_table('record_origin');

-- Each key belongs to one consolidated resource.
CREATE TABLE record_key (
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  resource_type text NOT NULL,
  key text COLLATE "C" NOT NULL,
  resource_id uuid NOT NULL,
  PRIMARY KEY (patient_id, resource_type, key)
);
SELECT guard_account_table('record_key');

-- Each consolidated resource, also after it has gone.
CREATE TABLE record_resource (
  account_id uuid NOT NULL,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  resource_type text NOT NULL,
  resource_id uuid NOT NULL,
  -- Id of the Provenance that is generated for it.
  provenance_id uuid NOT NULL,
  -- When it was new, changed or gone in our record.
  changed_at timestamptz(3) NOT NULL,
  gone_at timestamptz(3),
  PRIMARY KEY (patient_id, resource_id)
);
CREATE INDEX record_resource_by_id ON record_resource (resource_id);
CREATE INDEX record_resource_by_provenance ON record_resource (provenance_id);
SELECT guard_account_table('record_resource');

-- Deliveries that a caller has split from the others they were united with: each stays a resource of its own, however often its
-- source delivers it again, until the split is undone.
CREATE TABLE record_split (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  resource_type text NOT NULL,
  source_id text NOT NULL,
  split_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (patient_id, source, resource_type, source_id)
);
SELECT guard_account_table('record_split');

-- ==== delivery: documents, consolidated queries, exports ====================================================================

-- C-CDA documents converted for people (E14). Deleted after a day with their blobs: links to them are valid for a minute, and
-- they can be made again.
CREATE TABLE document_rendition (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  document_id uuid NOT NULL REFERENCES document ON DELETE CASCADE,
  format text NOT NULL CHECK (format IN ('html', 'pdf')),
  size_bytes bigint NOT NULL,
  blob_ref text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX document_rendition_by_document ON document_rendition (document_id, format, created_at);
CREATE INDEX document_rendition_by_age ON document_rendition (created_at);
CREATE INDEX document_rendition_by_blob ON document_rendition (blob_ref);
SELECT guard_account_table('document_rendition');

CREATE TRIGGER note_blob_erasure AFTER DELETE ON document_rendition REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION note_blob_erasure();

-- Consolidated queries: a patient's merged record written once, as FHIR, html or pdf. The result is an encrypted blob, deleted a
-- week after the end, because links to it are made while its webhook is delivered.
CREATE TABLE consolidated_query (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  status text NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'completed', 'failed')),
  conversion_type text NOT NULL CHECK (conversion_type IN ('json', 'html', 'pdf')),
  resources text[],
  date_from date,
  date_to date,
  -- All of the above in one canonical text: what makes two queries equal.
  parameters text NOT NULL,
  metadata jsonb,
  reason text,
  result jsonb,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3),
  workflow_started_at timestamptz(3),
  result_deleted_at timestamptz(3)
);
CREATE UNIQUE INDEX consolidated_query_running ON consolidated_query (patient_id, parameters) WHERE status = 'processing';
CREATE INDEX consolidated_query_by_patient ON consolidated_query (patient_id, created_at DESC, id);
CREATE INDEX consolidated_query_to_ensure ON consolidated_query (created_at) WHERE status = 'processing';
CREATE INDEX consolidated_query_to_clean ON consolidated_query (ended_at) WHERE result IS NOT NULL AND result_deleted_at IS NULL;
CREATE INDEX consolidated_query_by_result ON consolidated_query ((result->>'ref'));
SELECT guard_account_table('consolidated_query');

CREATE TRIGGER note_blob_erasure AFTER DELETE ON consolidated_query REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION note_blob_erasure();

-- FHIR Bulk Data exports: the files of many patients' records.
CREATE TABLE bulk_export (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- Null: all patients of the account.
  cohort_id uuid,
  -- Who asked, as in the audit, and with which URL.
  actor text NOT NULL,
  request text NOT NULL,
  -- Null: all types.
  types text[],
  -- Searches that restrict a type: {"Observation": ["category=laboratory", …]}
  type_filters jsonb NOT NULL DEFAULT '{}',
  -- Only what is newer.
  since timestamptz(3),
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
  reason text,
  -- Everything that changed until then is in the files.
  transaction_time timestamptz(3) NOT NULL,
  -- Number of patients; null until they are listed.
  patients integer,
  -- The checkpoint: slices written, patients finished, and the place within the next patient's record.
  slices integer NOT NULL DEFAULT 0,
  done integer NOT NULL DEFAULT 0,
  place jsonb,
  resources bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  workflow_started_at timestamptz,
  ended_at timestamptz,
  files_deleted_at timestamptz
);
CREATE INDEX bulk_export_by_account ON bulk_export (account_id, created_at);
CREATE INDEX bulk_export_with_files ON bulk_export (ended_at) WHERE files_deleted_at IS NULL;
SELECT guard_account_table('bulk_export');

-- The patients of an export, listed when it begins. No foreign key: an export of a patient who is deleted later is withdrawn.
CREATE TABLE bulk_export_patient (
  export_id uuid NOT NULL REFERENCES bulk_export ON DELETE CASCADE,
  ordinal integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL,
  -- New to the cohort since the given time: all of the record is exported.
  is_whole boolean NOT NULL,
  PRIMARY KEY (export_id, ordinal)
);
SELECT guard_account_table('bulk_export_patient');

-- What one slice wrote for one file; the files of the manifest consist of consecutive parts.
CREATE TABLE bulk_export_part (
  export_id uuid NOT NULL REFERENCES bulk_export ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('output', 'deleted', 'error')),
  resource_type text NOT NULL,
  slice integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  content jsonb NOT NULL,
  lines integer NOT NULL,
  PRIMARY KEY (export_id, kind, resource_type, slice)
);
CREATE INDEX bulk_export_part_by_blob ON bulk_export_part ((content->>'ref'));
SELECT guard_account_table('bulk_export_part');

-- ==== operations ============================================================================================================

-- How long each kind of data is kept; a kind without a rule is kept for ever. Set by operators (`npm run admin -- retention`).
CREATE TABLE retention_rule (
  kind text PRIMARY KEY,
  -- Not less than any retry, deadline or link needs.
  days integer NOT NULL CHECK (days >= 30),
  set_at timestamptz NOT NULL DEFAULT now(),
  -- When nothing was left to remove; null: a sweep is due or has begun.
  swept_at timestamptz,
  -- Since the rule exists.
  removed bigint NOT NULL DEFAULT 0
);
ALTER TABLE retention_rule ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY system_only ON retention_rule TO exchange_system USING (true) WITH CHECK (true);
SELECT open_to_backup('retention_rule');
GRANT INSERT, UPDATE, DELETE ON retention_rule TO exchange_admin;
GRANT SELECT ON retention_rule TO exchange_system;
-- Workers apply the rules.
GRANT UPDATE (swept_at, removed) ON retention_rule TO exchange_system;

