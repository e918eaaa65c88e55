with wanted as materialized (
  select :patientId::uuid as patient_id, each.*
  from unnest(:resourceIds::uuid[]) with ordinality as each(resource_id, nth)
), origin as materialized (
  -- From here, the planner does not see which patient it is, as in merge-store.ts.
  select wanted.patient_id, nth, o.* from wanted
  cross join lateral (select resource_id, source, resource_type, source_id, rank, leads, superseded from record_origin
    where patient_id = wanted.patient_id and resource_id = wanted.resource_id and :mayLeave offset 0) o
  union all
  select patient_id, nth, resource_id, source, resource_type, source_id, rank, leads, superseded
  from wanted join packed_place using (patient_id, resource_id)
  where patient_id = :patientId and :mayLeave
), member as materialized (
  select o.*, p.document_id, p.collected_at, p.converted_from, p.content, p.pack, p.place
  from origin o
  cross join lateral (select * from patient_resource
    where patient_id = o.patient_id and source = o.source and resource_type = o.resource_type
      and source_id = o.source_id limit 1) p
), opened as materialized (
  select * from opened_packs(:patientId, array(select distinct pack from member where pack is not null))
), stated as (
  select m.*, case when m.pack is null then m.content else content_in(o.contents, m.place) end as stated
  -- `offset 0`: taken out of its pack here, so that no pack is sorted with each row.
  from member m left join opened o using (pack) offset 0
)
select * from (
  select resource_id as "resourceId", source, source_id as "sourceId", d.file_name as "fileName",
    collected_at as "collectedAt", converted_from is not null as "isConverted", stated as content, rank, leads,
    superseded as "isSuperseded", nth::integer as place, (sum(bytes) over (order by nth))::float8 as through,
    (sum(bytes) over (partition by nth))::float8 as own
  from stated
  cross join lateral (select file_name from document where id = document_id limit 1) d
  cross join lateral (select case
    when resource_id = :patientId then 0
    -- Not compressed: in a pack it is as large as its text, in a row if it is small.
    when pack is not null or pg_column_size(stated) <= :storedAsTextMax then pg_column_size(stated)
    else octet_length(stated::text) end as bytes) size
  where resource_type <> 'Patient' or not is_sensitive(stated, denied_labels(:accountId, :patientId))
) sized
where through - own < :most
order by "isSuperseded", leads desc, rank desc
