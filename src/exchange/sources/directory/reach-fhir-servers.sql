-- The FHIR server that answers for each entry: its own, or that of the nearest parent in use that has one. Parents may form a circle.
with recursive way (id, gateway_id, next_id, depth) as (
  select id, case when fhir_url is not null then fhir_gateway_id end, parent_id, 0
  from directory_entry where directory = :directory and removed_at is null
  union all
  select way.id, case when e.fhir_url is not null and e.active then e.fhir_gateway_id end, e.parent_id, way.depth + 1
  from way join directory_entry e on e.directory = :directory and e.id = way.next_id and e.removed_at is null
  where way.gateway_id is null and way.depth < 20
), found as (
  select distinct on (id) id, gateway_id from way order by id, gateway_id nulls last, depth
)
update directory_entry e set fhir_gateway_id = found.gateway_id
from found where e.directory = :directory and e.id = found.id and e.fhir_gateway_id is distinct from found.gateway_id
