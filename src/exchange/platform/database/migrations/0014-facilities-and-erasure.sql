-- A facility may be deleted once no patient is left in it; requests that named it keep its id.
ALTER TABLE bulk_request DROP CONSTRAINT bulk_request_facility_id_fkey;

-- A patient may be deleted, with all that hangs on the patient; each of these finds what goes without reading all.
CREATE INDEX event_by_patient ON event (patient_id) WHERE patient_id IS NOT NULL;
CREATE INDEX discharge_follow_up_by_patient ON discharge_follow_up (patient_id);
-- Resources and documents both go with their patient and never alone.
ALTER TABLE patient_resource DROP CONSTRAINT patient_resource_document_id_fkey;

-- What is left to do when a patient's rows are gone: blobs to erase, workflows to stop. Written in the transaction that
-- deletes the patient; names nobody.
CREATE TABLE erasure (
  kind text NOT NULL CHECK (kind IN ('blob', 'workflow')),
  -- Of the blob, or id of the workflow.
  ref text NOT NULL,
  account_id uuid NOT NULL REFERENCES account,
  noted_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, ref)
);
CREATE INDEX erasure_by_age ON erasure (noted_at);
SELECT guard_account_table('erasure');
