-- The directories of networks: who is in a network, and where its members answer. A directory belongs to its network and not to
-- an account: every account reads the entries, and only the service writes them
-- (docs/decisions/0460-a-directory-is-read-leniently-and-counted.md).
CREATE TABLE directory (
  name text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  -- Where it is refreshed from; null: only what is loaded by hand.
  origin text,
  -- The Authorization header of those requests, encrypted with DATA_KEYS.
  secret bytea,
  refresh_hours integer CHECK (refresh_hours BETWEEN 1 AND 720),
  changed_at timestamptz(3) NOT NULL DEFAULT now()
);

-- Each load of a directory: what became of every item that was read.
CREATE TABLE directory_load (
  id uuid PRIMARY KEY,
  directory text NOT NULL REFERENCES directory ON DELETE CASCADE,
  -- A file's name or an address, without its query.
  origin text NOT NULL,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'failed')),
  counts jsonb NOT NULL DEFAULT '{}',
  -- Why it failed, or why entries that it lacks were kept.
  reason text,
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3)
);
CREATE INDEX directory_load_by_start ON directory_load (directory, started_at);

-- What was refused of a load, or read otherwise than written.
CREATE TABLE directory_remark (
  load_id uuid NOT NULL REFERENCES directory_load ON DELETE CASCADE,
  -- The item's place in what was read, from 1.
  place integer NOT NULL,
  entry_id text,
  remark text NOT NULL
);
CREATE INDEX directory_remark_of_load ON directory_remark (load_id, place);

-- The organizations of a directory.
CREATE TABLE directory_entry (
  directory text NOT NULL REFERENCES directory ON DELETE CASCADE,
  id text NOT NULL,
  -- The last load that had it.
  load_id uuid NOT NULL,
  -- SHA-256 of what the entry says.
  content bytea NOT NULL,
  name text,
  active boolean NOT NULL,
  parent_id text,
  managed_by text,
  home_community text,
  npi text,
  kinds text[] NOT NULL,
  networks text[] NOT NULL,
  purposes text[] NOT NULL,
  city text,
  state text,
  zip text,
  latitude double precision,
  longitude double precision,
  position_from text CHECK (position_from IN ('location', 'zip')),
  -- Of ITI-55, ITI-38 and ITI-39, and of a FHIR server.
  discovery_url text,
  query_url text,
  retrieve_url text,
  fhir_url text,
  -- Ids of endpoints and locations that are resources of their own.
  endpoint_ids text[] NOT NULL,
  location_ids text[] NOT NULL,
  -- The entry whose addresses answer for this one: itself, or the nearest parent that has any.
  gateway_id text,
  -- No longer in the directory since.
  removed_at timestamptz(3),
  PRIMARY KEY (directory, id)
);
CREATE INDEX directory_entry_by_gateway ON directory_entry (directory, gateway_id);
CREATE INDEX directory_entry_by_community ON directory_entry (directory, home_community);

-- Endpoints and locations that a directory has as resources of their own; they are joined to their organizations after a load.
CREATE TABLE directory_part (
  directory text NOT NULL REFERENCES directory ON DELETE CASCADE,
  id text NOT NULL,
  load_id uuid NOT NULL,
  entry_id text,
  -- Set for an endpoint: of which transaction, and where.
  transaction text CHECK (transaction IN ('discovery', 'query', 'retrieve', 'fhir')),
  address text,
  -- Set for a location.
  latitude double precision,
  longitude double precision,
  PRIMARY KEY (directory, id)
);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['directory', 'directory_load', 'directory_remark', 'directory_entry', 'directory_part'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY of_service ON %I TO exchange_system USING (true) WITH CHECK (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO exchange_system', name);
    PERFORM open_to_backup(name);
  END LOOP;
END
$$;
CREATE POLICY readable ON directory_entry FOR SELECT TO exchange_app USING (true);
GRANT SELECT ON directory_entry TO exchange_app;
