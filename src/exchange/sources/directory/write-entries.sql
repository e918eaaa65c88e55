with given as (
  select * from jsonb_to_recordset(:entries::jsonb) as entry(
    id text, content text, name text, active boolean, parent_id text, managed_by text, home_community text, npi text,
    kinds text[], networks text[], purposes text[], city text, state text, zip text,
    latitude double precision, longitude double precision, position_from text,
    discovery_url text, query_url text, retrieve_url text, fhir_url text, endpoint_ids text[], location_ids text[])
), before as (
  select e.id, e.content, e.load_id, e.removed_at from directory_entry e join given using (id) where e.directory = :directory
), written as (
  insert into directory_entry (
    directory, load_id, id, content, name, active, parent_id, managed_by, home_community, npi, kinds, networks, purposes,
    city, state, zip, latitude, longitude, position_from, discovery_url, query_url, retrieve_url, fhir_url,
    endpoint_ids, location_ids)
  select :directory, :loadId::uuid, id, decode(content, 'hex'), name, active, parent_id, managed_by, home_community, npi,
    kinds, networks, purposes, city, state, zip, latitude, longitude, position_from, discovery_url, query_url, retrieve_url,
    fhir_url, endpoint_ids, location_ids
  from given
  on conflict (directory, id) do update set
    load_id = excluded.load_id, content = excluded.content, name = excluded.name, active = excluded.active,
    parent_id = excluded.parent_id, managed_by = excluded.managed_by, home_community = excluded.home_community,
    npi = excluded.npi, kinds = excluded.kinds, networks = excluded.networks, purposes = excluded.purposes,
    city = excluded.city, state = excluded.state, zip = excluded.zip, latitude = excluded.latitude,
    longitude = excluded.longitude, position_from = excluded.position_from, discovery_url = excluded.discovery_url,
    query_url = excluded.query_url, retrieve_url = excluded.retrieve_url, fhir_url = excluded.fhir_url,
    endpoint_ids = excluded.endpoint_ids, location_ids = excluded.location_ids, removed_at = null
  returning id
)
-- What this load has written before is an id that repeats, and counted as that.
select count(*) filter (where before.id is null or before.removed_at is not null) as added,
  count(*) filter (where before.removed_at is null and before.content <> decode(given.content, 'hex')) as changed,
  count(*) filter (where before.removed_at is null and before.content = decode(given.content, 'hex')) as unchanged
from given left join before using (id) where before.load_id is distinct from :loadId::uuid
