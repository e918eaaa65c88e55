-- A dry run writes no patient, but knows whom its rows would have created: identity keys with the person that would
-- hold them, a patient of the account or (first_row set) one that would be new. Gone when the result is joined.
CREATE TABLE bulk_trial_key (
  request_id uuid NOT NULL REFERENCES bulk_request ON DELETE CASCADE,
  key bytea NOT NULL,
  account_id uuid NOT NULL,
  person_id uuid NOT NULL,
  first_row integer,
  PRIMARY KEY (request_id, key)
);
SELECT guard_account_table('bulk_trial_key');

CREATE INDEX bulk_chunk_open ON bulk_chunk (request_id, chunk) WHERE completed_at IS NULL;
