-- The SSNs and licences of the rows of a dry run, so that later chunks know whom they contradict. Deleted with its keys.
CREATE TABLE bulk_trial_identifier (
  request_id uuid NOT NULL REFERENCES bulk_request ON DELETE CASCADE,
  account_id uuid NOT NULL,
  person_id uuid NOT NULL,
  identifiers jsonb NOT NULL
);
CREATE INDEX bulk_trial_identifier_by_person ON bulk_trial_identifier (request_id, person_id);
SELECT guard_account_table('bulk_trial_identifier');
