with asked as (
  select account_id, id from unnest(:accountIds::uuid[],
    :eventIds::uuid[]) as asked (account_id, id)
), free as (
  select e.id from asked join event as e using (account_id, id)
    join webhook_destination as d on d.id = e.destination_id
  where :isFree and :noEarlierOpen and d.url is not null and d.key is not null and d.held_until is null
  for no key update of e skip locked
), claimed as (
  update event set status = 'delivering', attempts = attempts + 1, last_attempt_at = now()
  from free where event.id = free.id returning event.id, event.attempts
)
select e.id, e.type, e.patient_id, m.id as message_id, m.body, e.status, d.id as destination_id, d.url, d.key,
  d.previous_key, d.previous_key_until, d.health, d.failures, d.held_since, d.looks_at,
  coalesce(c.attempts, e.attempts) as attempts, c.id is not null as is_claimed
from asked join event as e using (account_id, id)
  join event as m on m.id = :messageId
  join webhook_destination as d on d.id = e.destination_id
  left join claimed as c on c.id = e.id
