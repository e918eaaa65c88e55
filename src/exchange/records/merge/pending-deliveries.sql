select source, resource_type as "resourceType", source_id as "sourceId", coalesce(p.bytes, 0) as "sizeBytes"
from (select source, resource_type, source_id, sha256, case when pack is null then pg_column_size(content) else :bytesInPack end as bytes
      from patient_resource where patient_id = :patientId) p
full join (select source, resource_type, source_id, sha256, rules
           from record_origin where patient_id = :patientId) o using (source, resource_type, source_id)
where p.sha256 is distinct from o.sha256 or o.rules <> :rules
order by resource_type, source, source_id
limit :limitTo
