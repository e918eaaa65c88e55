with recursive reference as (
  select source, source_id, standing, coalesce(standing->>'status', '') as status from delivered_resource
  where patient_id = :patientId and resource_type = 'DocumentReference'
), header as (
  select distinct on (d.source, d.source_document_id) d.source, d.source_document_id as source_id,
    c.cda_id, c.cda_set, c.cda_version, c.cda_replaces
  from document_conversion c join document d on d.id = c.document_id
  where c.patient_id = :patientId and c.cda_id is not null
  order by d.source, d.source_document_id, d.created_at desc, d.id desc
), link as (
  select old.source, old.source_id, newer.source_id as newer_id
  from reference as newer cross join lateral jsonb_path_query(newer.standing, :replaces::jsonpath) as target
    join reference as old on old.source = newer.source
      and regexp_replace(target #>> '{}', '/_history/.*$', '') = 'DocumentReference/' || old.source_id
  where newer.standing ? 'relatesTo'
  union
  select old.source, old.source_id, newer.source_id
  from header as newer join header as old on old.source = newer.source and old.source_id <> newer.source_id
    and (old.cda_id = any(newer.cda_replaces) and old.cda_id <> newer.cda_id
      or old.cda_set = newer.cda_set and old.cda_version < newer.cda_version)
), replaced as (
  select source, source_id, newer_id from link
  union
  select replaced.source, replaced.source_id, link.newer_id
  from replaced join link on link.source = replaced.source and link.source_id = replaced.newer_id
)
select distinct replaced.source, replaced.source_id
from replaced left join reference as newer on newer.source = replaced.source and newer.source_id = replaced.newer_id
where coalesce(newer.status, '') not in ('superseded', 'entered-in-error')
  and coalesce(newer.standing->>'docStatus', '') <> 'entered-in-error'
  -- Of two that name each other as replaced, none is known to be the newer one.
  and not exists (select from replaced as back where back.source = replaced.source
    and back.source_id = replaced.newer_id and back.newer_id = replaced.source_id)
  and exists (select from patient_resource as made
    where made.patient_id = :patientId and made.source = replaced.source and made.converted_from = replaced.newer_id)
