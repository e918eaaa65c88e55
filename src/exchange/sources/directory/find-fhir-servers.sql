-- The entry that stands for each FHIR server of a directory: entries with one address are one server. It keeps the entry that stood
-- for it before, because what was found there is known by that entry.
with before as materialized (
  select distinct fhir_gateway_id as id from directory_entry where directory = :directory and fhir_gateway_id is not null
), server as materialized (
  select id, first_value(id) over (partition by fhir_url
    order by active desc, id in (select before.id from before) desc, id) as gateway_id
  from directory_entry where directory = :directory and removed_at is null and fhir_url is not null
)
update directory_entry e set fhir_gateway_id = server.gateway_id
from server where e.directory = :directory and e.id = server.id and e.fhir_gateway_id is distinct from server.gateway_id
