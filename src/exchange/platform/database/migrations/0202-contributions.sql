-- What callers contribute of their own (docs/contribution.md): each request, and what it stated of each resource, so that a
-- contribution can be removed and what it replaced comes back. What is current of them is delivered to the record under the
-- source `contribution`.
CREATE TABLE contribution (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('resources', 'document')),
  -- As in the audit.
  contributed_by text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Of a document: its DocumentReference while its file is awaited, then the hash of the file.
  awaiting jsonb,
  file_sha256 bytea,
  -- Files of it may be C-CDA documents and are still to be converted.
  to_be_read boolean NOT NULL DEFAULT false
);
CREATE INDEX contribution_by_patient ON contribution (patient_id, created_at);
CREATE INDEX contribution_to_read ON contribution (created_at) WHERE to_be_read;
CREATE INDEX contribution_awaiting ON contribution (created_at) WHERE awaiting IS NOT NULL;
SELECT guard_account_table('contribution');

-- What a contribution stated of a resource. The statement with the highest version counts; of equal ones, the newest.
CREATE TABLE contributed_resource (
  contribution_id uuid NOT NULL REFERENCES contribution ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL,
  resource_type text NOT NULL,
  source_id text NOT NULL,
  version integer NOT NULL,
  document_id uuid NOT NULL,
  -- Of the content as contributed.
  sha256 bytea NOT NULL,
  content jsonb NOT NULL,
  PRIMARY KEY (contribution_id, resource_type, source_id)
);
CREATE INDEX contributed_resource_by_name ON contributed_resource (patient_id, resource_type, source_id, version);
SELECT guard_account_table('contributed_resource');

-- Removes a contribution. Of the resources that it stated, what others state counts again: the statement of the highest version,
-- then the newest. False: the patient has no such contribution.
CREATE FUNCTION remove_contribution(of_patient uuid, gone uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  named text[] := array(SELECT resource_type || '/' || source_id FROM contributed_resource
    WHERE contribution_id = gone AND patient_id = of_patient);
BEGIN
  DELETE FROM patient_resource WHERE patient_id = of_patient AND source = 'contribution'
    AND (resource_type || '/' || source_id = ANY (named) OR 'DocumentReference/' || converted_from = ANY (named));
  DELETE FROM contribution WHERE id = gone AND patient_id = of_patient;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO patient_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, collected_at)
    SELECT DISTINCT ON (r.resource_type, r.source_id)
      r.account_id, of_patient, 'contribution', r.resource_type, r.source_id, r.document_id, r.sha256, r.content, c.created_at
    FROM contributed_resource r JOIN contribution c ON c.id = r.contribution_id
    WHERE r.patient_id = of_patient AND r.resource_type || '/' || r.source_id = ANY (named)
    ORDER BY r.resource_type, r.source_id, r.version DESC, c.created_at DESC, c.id DESC;
  -- The documents that count again are converted again.
  WITH again AS (
    SELECT id, contribution_id FROM document
    WHERE patient_id = of_patient AND source = 'contribution' AND 'DocumentReference/' || source_document_id = ANY (named)
  ), forgotten AS (DELETE FROM document_conversion WHERE document_id IN (SELECT id FROM again))
  UPDATE contribution SET to_be_read = true WHERE id IN (SELECT contribution_id FROM again);
  RETURN true;
END $$;

ALTER TABLE document ADD COLUMN contribution_id uuid REFERENCES contribution ON DELETE CASCADE;
CREATE INDEX document_by_contribution ON document (contribution_id) WHERE contribution_id IS NOT NULL;
-- Not checked for the rows that are there: each satisfied the former constraint, which was stricter.
ALTER TABLE document DROP CONSTRAINT document_delivered_once;
ALTER TABLE document ADD CONSTRAINT document_delivered_once
  CHECK (num_nonnulls(query_id, message_id, subject_id, contribution_id) = 1) NOT VALID;
