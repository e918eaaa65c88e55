select distinct on (resource_type, source_id) resource_type || '/' || source_id as name, version,
  encode(sha256, 'hex') as sha256, created_at as at
from contributed_resource r join contribution c on c.id = r.contribution_id
where r.patient_id = :patientId and resource_type || '/' || source_id = any(:names::text[])
order by resource_type, source_id, version desc, created_at
