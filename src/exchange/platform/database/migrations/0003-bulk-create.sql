-- Bulk creates (E5): the request, its chunks with their checkpoints, and whom it created or updated.

CREATE TABLE bulk_request (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  facility_id uuid NOT NULL REFERENCES facility,
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
  workflow_started_at timestamptz(3)
);
CREATE INDEX bulk_request_by_account ON bulk_request (account_id, created_at DESC, id);
CREATE INDEX bulk_request_open ON bulk_request (created_at) WHERE status IN ('waiting', 'processing');
SELECT guard_account_table('bulk_request');

-- The rows of a chunk and its checkpoint are one transaction; of two that handle the same chunk the late one loses.
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
SELECT guard_account_table('bulk_chunk');

-- Whom a bulk create created or updated, each once; what the sweep of queries works through.
CREATE TABLE bulk_patient (
  request_id uuid NOT NULL REFERENCES bulk_request ON DELETE CASCADE,
  patient_id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  first_row integer NOT NULL,
  query_id uuid,
  sweep_outcome text CHECK (sweep_outcome IN ('started', 'skipped', 'failed')),
  PRIMARY KEY (request_id, patient_id)
);
SELECT guard_account_table('bulk_patient');
