with replaced as (
  update fhir_subscription set topic = :topic, resource = :resource, content = :content, filters = :filters,
    types = :types, scopes = :scopes, actor = :actor, max_count = :maxCount, timeout_ms = :timeoutMs,
    heartbeat_seconds = :heartbeatSeconds, ends_at = :endsAt,
    verified_at = null, ended_because = null, version = version + 1, updated_at = now()
  where id = :id
)
update webhook_destination set url = :url, key = :headers, health = :health, failures = 0, failed_event = null, held_since = null, held_until = null
where id = :id
