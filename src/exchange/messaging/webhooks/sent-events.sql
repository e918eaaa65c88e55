-- The deliveries of messages to their destinations, with every attempt at each.
select coalesce(e.copy_of, e.id) as "messageId", d.id as "webhookId", d.url, e.status, e.next_attempt_at as "nextAttemptAt",
  e.delivered_at as "deliveredAt",
  :attempts as attempts
from event e join webhook_destination d on d.id = e.destination_id
where e.account_id = :accountId and (e.id = any(:ids::uuid[]) or e.copy_of = any(:ids::uuid[])) and not d.is_subscription
order by not d.of_settings, d.created_at, d.id
