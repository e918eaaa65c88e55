-- A subscription that is off was switched off by its client, or with it: there is nothing to repair.
select d.account_id as "accountId", d.id as "destinationId", d.health as state, e.waiting, e.since,
  substring(d.url from '^[a-z]+://[^/?#]+') as address,
  :lastError as "lastError",
  coalesce(greatest(extract(epoch from now() - e.oldest), 0), 0)::float8 as "lagSeconds"
from webhook_destination d
cross join lateral (
  select count(*)::int as waiting, min(opened_at) as since, min(opened_at) filter (where next_attempt_at is null or next_attempt_at < now()) as oldest
  from event where destination_id = d.id and status in ('pending', 'delivering')) as e
where d.url is not null and not (d.is_subscription and d.health = 'disabled')
  and (d.held_since is not null or d.health in ('failing', 'disabled') or e.oldest < now() - :lateSeconds * interval '1 second')
order by e.oldest nulls last, d.id limit :most
