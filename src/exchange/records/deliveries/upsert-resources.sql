insert into patient_resource as r
  (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, revision, converted_from)
select :accountId, :patientId, :source, n.type, n.id, :documentId, n.sha, n.content::jsonb, n.revision, :convertedFrom
from unnest(:types::text[], :ids::text[], :hashes::bytea[], :contents::text[], :revisions::text[])
  as n(type, id, sha, content, revision)
on conflict (patient_id, source, resource_type, source_id) do update set
  document_id = excluded.document_id, sha256 = excluded.sha256, content = excluded.content,
  revision = excluded.revision, converted_from = excluded.converted_from, collected_at = now(),
  pack = null, place = null, standing = null
where r.sha256 <> excluded.sha256
  and (r.revision = '' or excluded.revision = '' or excluded.revision > r.revision
    or excluded.revision = r.revision and excluded.sha256 > r.sha256)
