-- Messages that have ended for every destination, and whose query has ended too. A copy goes with its message.
e.copy_of is null and e.status in ('delivered', 'dead', 'unrouted') and e.opened_at < :before
and coalesce(e.last_attempt_at, e.opened_at) < :before
and not exists (
  select from event copy where copy.copy_of = e.id and (
    copy.status not in ('delivered', 'dead', 'unrouted')
    or greatest(copy.opened_at, copy.last_attempt_at) >= :before))
and not exists (select from network_query q where q.id = e.request_id and q.status = 'running')
