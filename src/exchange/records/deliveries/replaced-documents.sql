with recursive reference as (
  select source, source_id, content, coalesce(content->>'status', '') as status from patient_resource
  where patient_id = :patientId and resource_type = 'DocumentReference'
), link as (
  select old.source, old.source_id, newer.source_id as newer_id
  from reference as newer cross join lateral jsonb_path_query(newer.content, :replaces::jsonpath) as target
    join reference as old on old.source = newer.source and old.status = 'superseded'
      and regexp_replace(target #>> '{}', '/_history/.*$', '') = 'DocumentReference/' || old.source_id
  where newer.content ? 'relatesTo'
), replaced as (
  select source, source_id, newer_id from link
  union
  select replaced.source, replaced.source_id, link.newer_id
  from replaced join link on link.source = replaced.source and link.source_id = replaced.newer_id
)
select distinct replaced.source, replaced.source_id
from replaced join reference as newer on newer.source = replaced.source and newer.source_id = replaced.newer_id
where newer.status not in ('superseded', 'entered-in-error')
  and coalesce(newer.content->>'docStatus', '') <> 'entered-in-error'
  and exists (select from patient_resource as made
    where made.patient_id = :patientId and made.source = newer.source and made.converted_from = newer.source_id)
