select * from (
  select o.resource_id as "resourceId", p.source, p.source_id as "sourceId", d.file_name as "fileName",
    p.collected_at as "collectedAt", p.converted_from is not null as "isConverted", p.content, o.rank, o.leads, o.superseded as "isSuperseded",
    wanted.place::integer, (sum(bytes) over (order by wanted.place))::float8 as through,
    (sum(bytes) over (partition by wanted.place))::float8 as own
  -- `offset 0` hides from the planner which patient it is, as in merge-store.ts.
  from (select :patientId::uuid as patient_id, each.*
    from unnest(:resourceIds::uuid[]) with ordinality as each(id, place) offset 0) as wanted
  cross join lateral (select * from record_origin
    where patient_id = wanted.patient_id and resource_id = wanted.id and :mayLeave offset 0) o
  cross join lateral (select * from patient_resource
    where patient_id = wanted.patient_id and source = o.source and resource_type = o.resource_type
      and source_id = o.source_id
      and (o.resource_type <> 'Patient' or not is_sensitive(content, denied_labels(:accountId, :patientId))) limit 1) p
  cross join lateral (select file_name from document where id = p.document_id limit 1) d
  cross join lateral (select case
    when wanted.id = :patientId then 0
    when pg_column_size(p.content) <= :storedAsTextMax then pg_column_size(p.content)
    else octet_length(p.content::text) end as bytes) size) sized
where through - own < :most
order by "isSuperseded", leads desc, rank desc
