-- Every gateway of a directory that speaks the protocol, IHE or FHIR, with the nearest of the active entries that it answers for. One pass without a join: right
-- after a load there are no statistics for one.
with recursive person as materialized (
  select * from unnest(:latitudes::double precision[], :longitudes::double precision[]) as place(latitude, longitude)
), above as materialized (
  select id, unnest(array[parent_id, managed_by]) as above_id from directory_entry
  where directory = :directory and removed_at is null and cardinality(:locators::text[]) > 0
), member (id) as (
  -- What is below a record locator; parents may form a circle.
  select id from directory_entry
  where directory = :directory and removed_at is null and home_community = any(:locators::text[])
  union
  select above.id from member join above on above.above_id = member.id
), entry as (
  select *, id = answering_id as is_gateway,
    case when active and latitude is not null then (
      select min(3959 * 2 * asin(sqrt(least(1, power(sin(radians(directory_entry.latitude - person.latitude) / 2), 2)
        + cos(radians(person.latitude)) * cos(radians(directory_entry.latitude))
        * power(sin(radians(directory_entry.longitude - person.longitude) / 2), 2))))) from person) end as miles
  from (
    select *, case when :isFhir::boolean then fhir_gateway_id else gateway_id end as answering_id
    from directory_entry where directory = :directory and removed_at is null
  ) directory_entry where answering_id is not null
)
select answering_id as id, max(name) filter (where is_gateway) as name,
  -- A FHIR server is known by its entry, where that names no home community.
  max(case when :isFhir::boolean then coalesce(home_community, id) else home_community end)
    filter (where is_gateway) as home_community,
  coalesce(bool_or(active) filter (where is_gateway), false) as active,
  max(case when :isFhir::boolean then fhir_url else discovery_url end) filter (where is_gateway) as discovery_url,
  max(case when :isFhir::boolean then fhir_url else query_url end) filter (where is_gateway) as query_url,
  max(case when :isFhir::boolean then fhir_url else retrieve_url end) filter (where is_gateway) as retrieve_url,
  min(miles) as miles, bool_or(active and latitude is null and state = any(:states::text[])) as is_unplaced_in_state,
  coalesce(bool_or(id in (select id from member)) filter (where is_gateway), false) as is_below_locator
from entry group by answering_id
