-- Retention keeps events for longer, but what was not repaired within a week is no news.
select account_id as "accountId", status as state, count(*)::int as events, max(at) as last from (
  select account_id, status, coalesce(last_attempt_at, occurred_at) as at from event
  where copy_of is null and status in ('dead', 'unrouted') and opened_at > now() - interval '7 days'
  union all
  select e.account_id, e.status, coalesce(e.last_attempt_at, e.occurred_at) from webhook_destination d join event e on e.destination_id = d.id
  where e.copy_of is not null and e.status = 'dead' and e.opened_at > now() - interval '7 days'
) as event group by 1, 2 order by 3 desc, 1, 2 limit :most
