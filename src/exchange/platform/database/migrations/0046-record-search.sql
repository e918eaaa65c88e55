-- Searching a record by code, category, status or date, and since when it has what it has.

-- What a delivery can be found by: `code=http://loinc.org|8480-6`, `date@…` (records/rules/search-index.ts).
ALTER TABLE record_origin ADD COLUMN search text[] COLLATE "C" NOT NULL DEFAULT '{}';

-- Each consolidated resource, also after it has gone.
CREATE TABLE record_resource (
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  resource_type text NOT NULL,
  resource_id uuid NOT NULL,
  -- Id of the Provenance that is generated for it.
  provenance_id uuid NOT NULL,
  -- When it was new, changed or gone in our record.
  changed_at timestamptz(3) NOT NULL,
  gone_at timestamptz(3),
  PRIMARY KEY (patient_id, resource_id)
);
CREATE INDEX record_resource_by_id ON record_resource (resource_id);
CREATE INDEX record_resource_by_provenance ON record_resource (provenance_id);
SELECT guard_account_table('record_resource');
