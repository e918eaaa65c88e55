-- FHIR Bulk Data exports: the files of many patients' records.
CREATE TABLE bulk_export (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- Null: all patients of the account.
  cohort_id uuid,
  -- Who asked, as in the audit, and the URL with which.
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

-- What one slice wrote for one file; the files of the manifest are made of consecutive parts.
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
