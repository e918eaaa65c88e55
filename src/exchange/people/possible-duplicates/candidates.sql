select s.id as of, found.* from unnest(
  :ids::uuid[],
  :dates::text[],
  :identifiers::text[]
) as wanted (id, dates, identifiers)
-- `offset 0`: where the statistics know no patient of an account, to read all of them would seem as good as to look up each.
cross join lateral (select * from patient p where p.id = wanted.id offset 0) s
cross join lateral (
  select :person from (
    select same.* from patient same
    where same.account_id = s.account_id and same.dob = s.dob
    union all
    select mistyped.* from unnest(string_to_array(wanted.dates, ',')::date[]) as date (dob)
    cross join lateral (select * from patient p where p.account_id = s.account_id and p.dob = date.dob offset 0) mistyped
    where lower(left(mistyped.last_names[1], 1)) = lower(left(s.last_names[1], 1))
      and lower(left(mistyped.first_names[1], 1)) = lower(left(s.first_names[1], 1))
    union all
    select known.* from (select distinct id from :holders as holders (id)) holder
    cross join lateral (select * from patient p where p.id = holder.id offset 0) known where known.dob <> s.dob
  ) p where p.id <> s.id
  order by (lower(p.last_names[1]) = lower(s.last_names[1]))::integer
    + (lower(p.first_names[1]) = lower(s.first_names[1]))::integer
    + (p.addresses -> 0 ->> 'zip' is not distinct from s.addresses -> 0 ->> 'zip')::integer desc, p.created_at, p.id limit :most
) found
