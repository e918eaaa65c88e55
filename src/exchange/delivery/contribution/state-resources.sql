insert into contributed_resource (contribution_id, account_id, patient_id, resource_type, source_id, version, document_id, sha256, content)
select :contributionId, :accountId, :patientId, n."resourceType", n."sourceId", n.version, :documentId, decode(n.sha256, 'hex'), n.json::jsonb
from jsonb_to_recordset(:statements::jsonb) as n ("resourceType" text, "sourceId" text, version integer, sha256 text, json text)
