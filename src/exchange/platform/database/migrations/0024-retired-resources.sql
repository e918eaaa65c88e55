-- A source deletes a resource, or moves it to another person. Then the resource leaves patient_resource, and with it the
-- record, and is kept here with the reason.
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
  -- The attempt that noticed.
  query_id uuid NOT NULL,
  attempt integer NOT NULL,
  PRIMARY KEY (patient_id, source, resource_type, source_id, retired_at)
);
CREATE INDEX retired_resource_by_query ON retired_resource (query_id, source, attempt);
SELECT guard_account_table('retired_resource');

-- What each page of a running attempt named, so that its end can tell what the whole answer no longer holds. Deleted
-- when the attempt ends.
CREATE TABLE answered_page (
  query_id uuid NOT NULL REFERENCES network_query ON DELETE CASCADE,
  source text NOT NULL,
  attempt integer NOT NULL,
  -- How many pages of the attempt came before.
  page integer NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  -- `Observation/42`
  resources text[] NOT NULL,
  -- The source reported errors of its own with this page: what is missing may just have failed.
  is_partial boolean NOT NULL,
  PRIMARY KEY (query_id, source, attempt, page)
);
SELECT guard_account_table('answered_page');
