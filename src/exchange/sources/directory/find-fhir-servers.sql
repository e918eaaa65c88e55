-- The FHIR server that answers for each entry: its own, or that of the nearest parent in use that has one. Entries with one address
-- are one server; it keeps the entry that stood for it before, because what was found there is known by that entry. Parents may form
-- a circle.
with recursive before as materialized (
  select distinct fhir_gateway_id as id from directory_entry where directory = :directory and fhir_gateway_id is not null
), server as materialized (
  select id, first_value(id) over (partition by fhir_url
    order by active desc, id in (select before.id from before) desc, id) as gateway_id
  from directory_entry where directory = :directory and removed_at is null and fhir_url is not null
), way (id, gateway_id, next_id, depth) as (
  select e.id, server.gateway_id, e.parent_id, 0
  from directory_entry e left join server using (id) where e.directory = :directory and e.removed_at is null
  union all
  select way.id, case when e.active then server.gateway_id end, e.parent_id, way.depth + 1
  from way join directory_entry e on e.directory = :directory and e.id = way.next_id and e.removed_at is null
  left join server on server.id = e.id
  where way.gateway_id is null and way.depth < 20
), found as (
  select distinct on (id) id, gateway_id from way order by id, gateway_id nulls last, depth
)
update directory_entry e set fhir_gateway_id = found.gateway_id
from found where e.directory = :directory and e.id = found.id and e.fhir_gateway_id is distinct from found.gateway_id
