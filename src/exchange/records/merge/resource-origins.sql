select o.resource_type as "resourceType", o.source, o.source_id as "sourceId", d.file_name as "fileName",
  p.converted_from is not null as "isConverted", p.collected_at as "collectedAt",
  p.content #>> '{meta,versionId}' as "versionId", p.content #>> '{meta,lastUpdated}' as "lastUpdated",
  jsonb_path_query_first(p.content, :statedOnPath::jsonpath) #>> '{}' as "statedOn",
  o.leads, o.superseded, o.keys, exists (select from record_split s where s.patient_id = o.patient_id and s.source = o.source
    and s.resource_type = o.resource_type and s.source_id = o.source_id) as split
from merged_origin o
join delivered_resource p using (patient_id, source, resource_type, source_id)
join document d on d.id = p.document_id
where o.patient_id = :patientId and o.resource_id = :resourceId and :mayLeave
order by o.superseded, o.leads desc, o.rank desc
