with destination as (
  insert into webhook_destination (id, account_id, url, key, of_settings, is_subscription, types, health)
  values (:id, :accountId, :url, :headers, false, true, '{}', :health)
)
insert into fhir_subscription (id, account_id, actor, scopes, topic, resource, content, filters, types, max_count,
  timeout_ms, heartbeat_seconds, ends_at)
values (:id, :accountId, :actor, :scopes, :topic, :resource, :content, :filters, :types, :maxCount,
  :timeoutMs, :heartbeatSeconds, :endsAt)
