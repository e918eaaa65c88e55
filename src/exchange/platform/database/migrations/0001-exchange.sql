-- The exchange's tables. Every table of an account carries account_id and is guarded by row-level security:
-- role exchange_app sees the rows of the account set for the transaction, role exchange_system sees all.
-- Both are entered by `set_config('role', …, true)` at the start of each transaction, never by login.

-- Where the migrating user may not create roles, an administrator creates both beforehand and grants them to it.

DO $$
DECLARE r text;
BEGIN
  FOREACH r IN ARRAY ARRAY['exchange_app', 'exchange_system'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', r);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END;
    END IF;
    BEGIN
      EXECUTE format('GRANT %I TO %I', r, current_user);
    EXCEPTION
      WHEN unique_violation OR SQLSTATE 'XX000' THEN NULL;
      WHEN insufficient_privilege THEN
        IF NOT pg_has_role(current_user, r, 'MEMBER') THEN RAISE; END IF;
    END;
  END LOOP;
END $$;

CREATE TABLE account (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  dialect text NOT NULL DEFAULT 'interface' CHECK (dialect IN ('interface', 'published')),
  -- {sources: {hie: {enabled}, …}, limits: {requestsPerMinute, networkQueriesPerMinute}}
  settings jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

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

CREATE TABLE patient (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
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
  hie_opt_out boolean NOT NULL DEFAULT false,
  treatment_relationship boolean NOT NULL DEFAULT true,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX patient_by_account ON patient (account_id, created_at, id);
CREATE INDEX patient_by_external_id ON patient (account_id, external_id) WHERE external_id IS NOT NULL;

-- One keyed hash per zip of a patient: the matching rule of E5, enforced by the database.
CREATE TABLE patient_identity_key (
  account_id uuid NOT NULL REFERENCES account,
  key bytea NOT NULL,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX patient_identity_key_by_patient ON patient_identity_key (patient_id);

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
  UNIQUE (account_id, name)
);

CREATE TABLE cohort_member (
  account_id uuid NOT NULL REFERENCES account,
  cohort_id uuid NOT NULL REFERENCES cohort,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (cohort_id, patient_id)
);
CREATE INDEX cohort_member_by_patient ON cohort_member (patient_id);

CREATE TABLE idempotency_key (
  account_id uuid NOT NULL REFERENCES account,
  key_hash bytea NOT NULL,
  request_hash bytea NOT NULL,
  status integer,
  answer jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, key_hash)
);
CREATE INDEX idempotency_key_by_age ON idempotency_key (created_at);

CREATE TABLE audit_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL,
  operation text NOT NULL,
  patient_id uuid,
  target_id text,
  outcome text NOT NULL,
  remote_address text
);
CREATE INDEX audit_entry_by_account ON audit_entry (account_id, id);

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
  ended_at timestamptz
);
CREATE INDEX network_query_by_account ON network_query (account_id, started_at DESC, id);
CREATE INDEX network_query_by_patient ON network_query (patient_id, started_at DESC);

-- How much of a limit an account has used in the present minute. Unlogged: a crash forgets one minute at most.
CREATE UNLOGGED TABLE rate_window (
  account_id uuid NOT NULL REFERENCES account,
  name text NOT NULL,
  window_start timestamptz NOT NULL,
  used integer NOT NULL,
  PRIMARY KEY (account_id, name)
);

-- One workflow execution on a query: run 0 is the query itself, later ones take up single sources after its end.
CREATE TABLE network_query_run (
  query_id uuid NOT NULL REFERENCES network_query ON DELETE CASCADE,
  run integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  sources text[] NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  workflow_started_at timestamptz,
  ended_at timestamptz,
  PRIMARY KEY (query_id, run)
);
CREATE INDEX network_query_run_open ON network_query_run (requested_at) WHERE ended_at IS NULL;

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
  PRIMARY KEY (query_id, source, attempt)
);

CREATE TABLE network_query_timeline (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  query_id uuid NOT NULL REFERENCES network_query ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  source text,
  attempt integer,
  kind text NOT NULL,
  message text NOT NULL,
  -- What is told at most once, however often the step that tells it runs.
  once_key text,
  UNIQUE (query_id, once_key)
);
CREATE INDEX network_query_timeline_by_query ON network_query_timeline (query_id, id);

-- Every answer of a source, and every document it brought, as it came; the bytes are in the blob store.
CREATE TABLE document (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  query_id uuid NOT NULL,
  source text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('page', 'attachment')),
  source_document_id text,
  file_name text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 bytea NOT NULL,
  blob_ref text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (account_id, file_name)
);
CREATE INDEX document_by_patient ON document (patient_id, created_at);

-- What was collected, once by its identity at the source.
CREATE TABLE patient_resource (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  resource_type text NOT NULL,
  source_id text NOT NULL,
  document_id uuid NOT NULL REFERENCES document ON DELETE CASCADE,
  sha256 bytea NOT NULL,
  content jsonb NOT NULL,
  collected_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (patient_id, source, resource_type, source_id)
);

CREATE TABLE webhook_destination (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL UNIQUE REFERENCES account,
  url text,
  key text,
  health text NOT NULL DEFAULT 'unknown' CHECK (health IN ('healthy', 'failing', 'disabled', 'unknown')),
  health_at timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- The outbox: a state change and its event are one transaction. The id is the message id of every delivery.
CREATE TABLE event (
  id uuid PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid,
  destination_id uuid REFERENCES webhook_destination,
  type text NOT NULL,
  -- One fact has one event, however often the step that tells it runs.
  fact_key text NOT NULL,
  request_id uuid,
  body jsonb NOT NULL,
  occurred_at timestamptz NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'delivering', 'delivered', 'dead', 'unrouted')),
  attempts integer NOT NULL DEFAULT 0,
  last_attempt_at timestamptz,
  -- When a workflow was last asked to bring it out.
  handed_over_at timestamptz,
  delivered_at timestamptz,
  UNIQUE (account_id, fact_key)
);
CREATE INDEX event_open ON event (seq) WHERE status IN ('pending', 'delivering');
CREATE INDEX event_open_by_patient ON event (patient_id, seq) WHERE status IN ('pending', 'delivering');

CREATE TABLE event_attempt (
  event_id uuid NOT NULL REFERENCES event ON DELETE CASCADE,
  attempt integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  at timestamptz NOT NULL DEFAULT now(),
  http_status integer,
  outcome text NOT NULL,
  PRIMARY KEY (event_id, attempt)
);

-- Guard every table of an account.
DO $$
DECLARE t text;
BEGIN
  FOR t IN SELECT table_name FROM information_schema.columns
           WHERE table_schema = current_schema() AND column_name = 'account_id'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY own_account ON %I TO exchange_app
      USING (account_id = current_setting(''app.account_id'')::uuid)
      WITH CHECK (account_id = current_setting(''app.account_id'')::uuid)', t);
    EXECUTE format('CREATE POLICY every_account ON %I TO exchange_system USING (true) WITH CHECK (true)', t);
  END LOOP;
END $$;
ALTER TABLE account ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own_account ON account FOR SELECT TO exchange_app USING (id = current_setting('app.account_id')::uuid);
CREATE POLICY every_account ON account TO exchange_system USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO exchange_app, exchange_system;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO exchange_app, exchange_system;
-- The audit is append-only for the application.
REVOKE UPDATE, DELETE ON audit_entry FROM exchange_app;
REVOKE INSERT, UPDATE, DELETE ON account FROM exchange_app;
