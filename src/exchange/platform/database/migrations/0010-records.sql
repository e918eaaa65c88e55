-- Consolidated records: which deliveries are one thing. Contents stay in patient_resource and are folded when read, so
-- nothing is kept twice and a record cannot say other than what was delivered.

-- `revision`: when and as which version its source wrote it, in text order; empty when it does not say.
-- `converted_from`: the source's id of the C-CDA document that it was made of.
ALTER TABLE patient_resource
  ADD COLUMN revision text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN converted_from text;
CREATE INDEX patient_resource_converted ON patient_resource (patient_id, source, converted_from)
  WHERE converted_from IS NOT NULL;

-- Under which ids a source knows a person: what its resources must name.
CREATE TABLE patient_at_source (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  source_patient_id text NOT NULL,
  PRIMARY KEY (patient_id, source, source_patient_id)
);
SELECT guard_account_table('patient_at_source');

-- What the merge knows of each delivery; one whose hash differs from patient_resource's is yet to be merged.
CREATE TABLE record_origin (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  source text NOT NULL,
  resource_type text NOT NULL,
  source_id text NOT NULL,
  sha256 bytea NOT NULL,
  -- Number of the rules it was merged by.
  rules integer NOT NULL,
  -- The consolidated resource it belongs to; null when it is put aside.
  resource_id uuid,
  aside text,
  keys text[] COLLATE "C" NOT NULL,
  rank text COLLATE "C" NOT NULL,
  -- What it says stands in the consolidated resource.
  leads boolean NOT NULL,
  -- The Medication of the source whose code is among the keys.
  medication_id text,
  sort_date text COLLATE "C" NOT NULL,
  date_from date,
  date_to date,
  PRIMARY KEY (patient_id, source, resource_type, source_id)
);
CREATE INDEX record_origin_by_resource ON record_origin (patient_id, resource_id);
CREATE INDEX record_origin_leading ON record_origin (patient_id, resource_type, sort_date DESC, resource_id DESC)
  WHERE leads;
CREATE INDEX record_origin_by_medication ON record_origin (patient_id, source, medication_id)
  WHERE medication_id IS NOT NULL;
SELECT guard_account_table('record_origin');

-- Each key belongs to one consolidated resource.
CREATE TABLE record_key (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  resource_type text NOT NULL,
  key text COLLATE "C" NOT NULL,
  resource_id uuid NOT NULL,
  PRIMARY KEY (patient_id, resource_type, key)
);
CREATE INDEX record_key_by_resource ON record_key (patient_id, resource_id);
SELECT guard_account_table('record_key');

-- What became of each C-CDA document.
CREATE TABLE document_conversion (
  document_id uuid PRIMARY KEY REFERENCES document ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  outcome text NOT NULL CHECK (outcome IN ('converted', 'superseded', 'not-cda', 'skipped', 'failed')),
  reason text,
  resources integer NOT NULL DEFAULT 0,
  converted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX document_conversion_by_patient ON document_conversion (patient_id);
SELECT guard_account_table('document_conversion');
