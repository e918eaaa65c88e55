-- The connections of an account to the networks of one kind of source. An account without any uses the connection that the
-- environment variables describe.
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
-- Connections are made by the admin CLI; no account makes one for itself.
REVOKE INSERT, UPDATE, DELETE ON network_connection FROM exchange_app;

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
  PRIMARY KEY (query_id, source, attempt, connection_id),
  FOREIGN KEY (query_id, source, attempt) REFERENCES network_query_attempt ON DELETE CASCADE
);
SELECT guard_account_table('network_query_part');

-- Which connection answered with the page; null where the attempt has no parts.
ALTER TABLE answered_page ADD COLUMN connection_id uuid;
