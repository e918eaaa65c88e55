select s.id as of, found.* from unnest(
  :ids::uuid[],
  :dates::text[],
  :identifiers::text[]
) as wanted (id, dates, identifiers)
join patient s on s.id = wanted.id
cross join lateral (
  select :person from (
    select same.* from patient same
    where same.account_id = s.account_id and same.dob = s.dob
    union all
    select mistyped.* from patient mistyped
    where mistyped.account_id = s.account_id and mistyped.dob = any(string_to_array(wanted.dates, ',')::date[])
      and lower(left(mistyped.last_names[1], 1)) = lower(left(s.last_names[1], 1))
      and lower(left(mistyped.first_names[1], 1)) = lower(left(s.first_names[1], 1))
    union all
    select known.* from (select distinct id from :holders as holders (id)) holder
    join patient known on known.id = holder.id and known.dob <> s.dob
  ) p where p.id <> s.id
  order by (lower(p.last_names[1]) = lower(s.last_names[1]))::integer
    + (lower(p.first_names[1]) = lower(s.first_names[1]))::integer
    + (p.addresses -> 0 ->> 'zip' is not distinct from s.addresses -> 0 ->> 'zip')::integer desc, p.created_at, p.id limit :most
) found
