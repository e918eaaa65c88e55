select s.id as of, found.* from unnest(
  :ids::uuid[],
  :dates::text[],
  :identifiers::text[]
) as wanted (id, dates, identifiers)
join patient s on s.id = wanted.id
cross join lateral (
  select :person from (
    select :alike as id
    union
    select :holders
  ) near
  -- One by one, by the primary key: PostgreSQL cannot know that there are few.
  cross join lateral (
    select * from patient where patient.id = near.id and patient.account_id = s.account_id offset 0
  ) p
  where p.id <> s.id
  order by (lower(p.last_names[1]) = lower(s.last_names[1]))::integer
    + (lower(p.first_names[1]) = lower(s.first_names[1]))::integer
    + (p.addresses -> 0 ->> 'zip' is not distinct from s.addresses -> 0 ->> 'zip')::integer desc, p.created_at, p.id limit :most
) found
