with claimed as (
  insert into source_token as t (name, requested_until) values (:name, :claim)
  on conflict (name) do update set requested_until = excluded.requested_until
    where (t.renew_at is null or t.renew_at <= now())
      and (t.requested_until is null or t.requested_until <= now())
  returning *),
found as (select * from claimed union all
  select * from source_token where name = :name and not exists (select from claimed))
select sealed, renew_at as "renewAt", ends_at as "endsAt", missing_scopes as "missingScopes",
  exists (select from claimed) as "isClaimed",
  (renew_at is null or renew_at <= now()) as "isDue", (ends_at is null or ends_at <= now()) as "isEnded"
from found
