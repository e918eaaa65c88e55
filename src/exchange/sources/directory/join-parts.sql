-- Addresses and positions that a directory has as resources of their own: named by the organization, or naming it.
with part as (
  select e.id, p.transaction, min(p.address) as address, min(p.latitude) as latitude, min(p.longitude) as longitude
  from directory_part p join directory_entry e on e.directory = p.directory
    and (e.id = p.entry_id or p.id = any (select 'Endpoint/' || each from unnest(e.endpoint_ids) as each
      union all select 'Location/' || each from unnest(e.location_ids) as each))
  where p.directory = :directory and p.load_id = :loadId::uuid and e.load_id = :loadId::uuid
  group by e.id, p.transaction
), entry as (
  select id, max(address) filter (where transaction = 'discovery') as discovery_url,
    max(address) filter (where transaction = 'query') as query_url,
    max(address) filter (where transaction = 'retrieve') as retrieve_url,
    max(address) filter (where transaction = 'fhir') as fhir_url,
    max(latitude) as latitude, max(longitude) as longitude
  from part group by id
)
update directory_entry e set discovery_url = coalesce(e.discovery_url, entry.discovery_url),
  query_url = coalesce(e.query_url, entry.query_url), retrieve_url = coalesce(e.retrieve_url, entry.retrieve_url),
  fhir_url = coalesce(e.fhir_url, entry.fhir_url),
  latitude = case when e.position_from = 'location' then e.latitude else coalesce(entry.latitude, e.latitude) end,
  longitude = case when e.position_from = 'location' then e.longitude else coalesce(entry.longitude, e.longitude) end,
  position_from = case when entry.latitude is null then e.position_from else 'location' end
from entry where e.directory = :directory and e.id = entry.id
