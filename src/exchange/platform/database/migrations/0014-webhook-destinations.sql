-- Several destinations for an account's webhooks: the one of the settings, which gets everything, and further ones, each with
-- a filter, a key and a health of its own.
ALTER TABLE webhook_destination DROP CONSTRAINT webhook_destination_account_id_key;
ALTER TABLE webhook_destination
  ADD COLUMN of_settings boolean NOT NULL DEFAULT true,
  -- Types and prefixes (`patient.*`) of what goes there; null: everything.
  ADD COLUMN types text[],
  -- Keys are sealed by the key ring; what an earlier version wrote in clear, reconcile seals.
  ADD COLUMN previous_key text,
  ADD COLUMN previous_key_until timestamptz(3),
  ADD COLUMN created_at timestamptz(3) NOT NULL DEFAULT now();
CREATE UNIQUE INDEX webhook_destination_of_settings ON webhook_destination (account_id) WHERE of_settings;
CREATE INDEX webhook_destination_by_account ON webhook_destination (account_id, created_at, id);
CREATE INDEX webhook_destination_unsealed ON webhook_destination (id) WHERE key NOT LIKE 'sealed:%';

-- A row of `event` is one message on its way to one destination. The first row of a message goes to the destination of the
-- settings, and its id is the message's; further destinations get copies of it, which have no body of their own.
ALTER TABLE event
  ADD COLUMN copy_of uuid REFERENCES event ON DELETE CASCADE,
  ALTER COLUMN body DROP NOT NULL,
  ADD CHECK ((copy_of IS NULL) = (body IS NOT NULL)),
  DROP CONSTRAINT event_account_id_fact_key_key,
  DROP CONSTRAINT event_destination_id_fkey,
  -- A destination takes its copies along; the messages themselves stay.
  ADD FOREIGN KEY (destination_id) REFERENCES webhook_destination ON DELETE CASCADE;
CREATE UNIQUE INDEX event_once ON event (account_id, fact_key) WHERE copy_of IS NULL;
CREATE UNIQUE INDEX event_copy_once ON event (copy_of, destination_id) WHERE copy_of IS NOT NULL;
CREATE INDEX event_copy_by_destination ON event (destination_id) WHERE copy_of IS NOT NULL;
CREATE INDEX event_by_time ON event (account_id, occurred_at) WHERE copy_of IS NULL;
