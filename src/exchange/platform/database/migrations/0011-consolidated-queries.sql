-- Consolidated queries: a patient's merged record put together once, as FHIR, html or pdf. The result is an encrypted
-- blob; a week after its end it is deleted, for the links to it are made while its webhook is delivered.
CREATE TABLE consolidated_query (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  status text NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'completed', 'failed')),
  conversion_type text NOT NULL CHECK (conversion_type IN ('json', 'html', 'pdf')),
  resources text[],
  date_from date,
  date_to date,
  -- All of the above in one canonical text: what makes two queries the same.
  parameters text NOT NULL,
  metadata jsonb,
  reason text,
  result jsonb,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3),
  workflow_started_at timestamptz(3),
  result_deleted_at timestamptz(3)
);
-- One of the same parameters runs at a time.
CREATE UNIQUE INDEX consolidated_query_running ON consolidated_query (patient_id, parameters)
  WHERE status = 'processing';
CREATE INDEX consolidated_query_by_patient ON consolidated_query (patient_id, created_at DESC, id);
CREATE INDEX consolidated_query_to_ensure ON consolidated_query (created_at) WHERE status = 'processing';
CREATE INDEX consolidated_query_to_clean ON consolidated_query (ended_at)
  WHERE result IS NOT NULL AND result_deleted_at IS NULL;
SELECT guard_account_table('consolidated_query');
