select source, resource_type as "resourceType", source_id as "sourceId", coalesce(p.bytes, 0) as "sizeBytes"
from (select source, resource_type, source_id, sha256, case when pack is null then pg_column_size(content) else :bytesInPack end as bytes
      from patient_resource where patient_id = :patientId) p
full join (select source, resource_type, source_id, sha256, rules
           from merged_place where patient_id = :patientId) o using (source, resource_type, source_id)
where substring(p.sha256 for 8) is distinct from substring(o.sha256 for 8) or o.rules <> :rules
order by resource_type, source, source_id
limit :limitTo
