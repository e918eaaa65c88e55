-- One query over the gateways of a network (docs/decisions/0461-a-gateway-is-a-row.md).

-- The gateways that an account's connection to a network has asked: what parts, breakers and ids know each by.
CREATE TABLE network_gateway (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  connection_id uuid NOT NULL REFERENCES network_connection ON DELETE CASCADE,
  -- An OID, without urn:oid:.
  home_community text NOT NULL,
  -- As the directory had them when the gateway was last chosen.
  name text NOT NULL,
  discovery_url text NOT NULL,
  query_url text NOT NULL,
  retrieve_url text NOT NULL,
  -- Begins the ids of what the gateway delivers.
  namespace text NOT NULL,
  UNIQUE (connection_id, home_community)
);
SELECT guard_account_table('network_gateway');

-- Each gateway that an attempt asks for its patient. One that finds the patient becomes a part of the attempt.
CREATE TABLE gateway_ask (
  query_id uuid NOT NULL,
  source text NOT NULL,
  attempt integer NOT NULL,
  gateway_id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL,
  -- Not foreign keys: both may be deleted while the attempt runs.
  connection_id uuid NOT NULL,
  home_community text NOT NULL,
  -- The order in which gateways are asked, and why this one is.
  place integer NOT NULL,
  because text NOT NULL,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'waiting', 'found', 'nobody', 'failed')),
  -- Why it failed, or is asked again; without personal data.
  reason text,
  tries integer NOT NULL DEFAULT 0,
  -- Null: now.
  next_try_at timestamptz(3),
  -- Later answers of it that have come, and those that a step has used.
  answers integer NOT NULL DEFAULT 0,
  answers_used integer NOT NULL DEFAULT 0,
  -- The step that is asking it; only the newest step of an attempt writes.
  claimed_step integer,
  ended_at timestamptz(3),
  PRIMARY KEY (query_id, source, attempt, gateway_id),
  FOREIGN KEY (query_id, source, attempt) REFERENCES network_query_attempt ON DELETE CASCADE
);
CREATE INDEX gateway_ask_open ON gateway_ask (query_id, source, attempt, place) WHERE state IN ('open', 'waiting');
CREATE INDEX gateway_ask_of_patient ON gateway_ask (patient_id, connection_id, ended_at);
SELECT guard_account_table('gateway_ask');

-- Of an attempt that asks the gateways of networks: when they were chosen, how many steps have begun, and whether its workflow
-- was told of a later answer since the newest of them.
ALTER TABLE network_query_attempt ADD COLUMN gateways_chosen_at timestamptz(3);
ALTER TABLE network_query_attempt ADD COLUMN gateway_step integer NOT NULL DEFAULT 0;
ALTER TABLE network_query_attempt ADD COLUMN is_told_of_answer boolean NOT NULL DEFAULT false;
