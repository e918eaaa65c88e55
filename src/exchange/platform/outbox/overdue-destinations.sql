select d.account_id, d.id, overdue.since from webhook_destination as d cross join lateral (
  select coalesce(e.next_attempt_at, e.opened_at) as since from event as e
  where e.destination_id = d.id and (
    e.status = 'pending' and coalesce(e.next_attempt_at, e.last_attempt_at, e.opened_at) < :before
    or e.status = 'delivering' and e.last_attempt_at < :before)
  and :noEarlierOpen
  order by e.seq limit 1) as overdue
where d.url is not null and d.key is not null and d.health <> 'disabled'
  and (d.held_until is null or d.held_until < :before)
  and (d.looks_at is null or d.looks_at not between :lookedAfter and now())
order by overdue.since
limit :limit
