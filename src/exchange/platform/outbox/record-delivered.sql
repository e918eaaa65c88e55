with sent as (
  select id, http_status, note from unnest(:eventIds::uuid[],
    :statuses::int[],
    :notes::text[]) as sent (id, http_status, note)
), free as (
  select e.id, e.account_id, sent.http_status, sent.note from sent join event as e using (id)
  where e.status not in ('delivered', 'dead', 'unrouted') for no key update of e skip locked
), attempted as (
  insert into event_attempt (event_id, attempt, account_id, http_status, outcome)
  select id, (select count(*) + 1 from event_attempt where event_id = free.id), account_id, http_status, note from free
  on conflict do nothing
)
update event set status = 'delivered', delivered_at = now(), next_attempt_at = null
from free where event.id = free.id returning event.id
