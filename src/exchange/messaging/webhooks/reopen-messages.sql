update event set destination_id = d.id, opened_at = now(), next_attempt_at = null,
  status = case when event.status = 'delivering' then event.status else 'pending' end,
  attempts = case when event.status = 'delivering' then attempts else 0 end,
  delivered_at = null
from webhook_destination d
where d.account_id = event.account_id and :takesEvents and not d.is_subscription
  and (event.id = any(:ids::uuid[]) or event.copy_of = any(:ids::uuid[]))
  and (d.id = event.destination_id or d.of_settings and event.destination_id is null)
  and (:destinationId::uuid is null or d.id = :destinationId::uuid)
returning event.id, event.seq
