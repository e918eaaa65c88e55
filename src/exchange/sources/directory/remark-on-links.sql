-- What of a load refers to something that the directory does not have. Joins go by the tables' keys: right after a load there are no
-- statistics.
with recursive above (id, at_id, depth) as (
  select id, parent_id, 1 from directory_entry
  where directory = :directory and load_id = :loadId::uuid and removed_at is null and parent_id is not null
  union all
  select above.id, e.parent_id, above.depth + 1
  from above join directory_entry e on e.directory = :directory and e.id = above.at_id and e.removed_at is null
  where above.at_id <> above.id and e.parent_id is not null and above.depth < 20
), named as materialized (
  select id, part_id from directory_entry e, lateral (
    select 'Endpoint/' || unnest(e.endpoint_ids) as part_id union all select 'Location/' || unnest(e.location_ids)) each
  where e.directory = :directory and e.load_id = :loadId::uuid and e.removed_at is null
), remark (entry_id, remark) as (
  select above.id, 'is part of an organization that the directory does not have' from above
  where depth = 1 and not exists (
    select from directory_entry p where p.directory = :directory and p.id = above.at_id and p.removed_at is null)
  union all select distinct id, 'is above itself' from above where at_id = id
  union all select distinct named.id, 'names an endpoint or location that the directory does not have' from named
  where not exists (
    select from directory_part p where p.directory = :directory and p.id = named.part_id and p.load_id = :loadId::uuid)
  union all select p.id, 'belongs to no organization of the directory' from directory_part p
  where p.directory = :directory and p.load_id = :loadId::uuid and p.id not in (select named.part_id from named)
    and not exists (
      select from directory_entry e where e.directory = :directory and e.id = p.entry_id and e.load_id = :loadId::uuid)
)
insert into directory_remark (load_id, place, entry_id, remark)
select :loadId::uuid, 0, entry_id, remark from remark
