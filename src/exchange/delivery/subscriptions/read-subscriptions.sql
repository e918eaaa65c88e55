select * from (
  select s.id, s.account_id, s.actor, s.scopes, s.topic, s.resource, s.content, s.types, s.max_count, s.timeout_ms, s.heartbeat_seconds,
    s.heartbeat_at, s.ends_at, s.events, s.verified_at, s.ended_because, s.version, s.created_at, s.updated_at, s.id::text as _id, d.url, d.key as headers, s.resource ->> 'criteria' as criteria,
    case when s.ends_at <= now() or d.health = 'disabled' then 'off' when d.health = 'failing' then 'error'
      when s.verified_at is null then 'requested' else 'active' end as status,
    case when s.ends_at <= now() then 'The end of the subscription has come'
      when d.health = 'disabled' then coalesce(s.ended_because, 'The client, or the answer 410, has switched it off')
      when d.health = 'failing' then 'The endpoint accepts no notifications: ' || coalesce(:lastResult, 'it failed') end as error
  from fhir_subscription s join webhook_destination d on d.id = s.id
) as subscription
where (:actor::text is null or actor = :actor) and (:id::text[] is null or _id = any(:id)) and (:url::text[] is null or url = any(:url))
  and (:status::text[] is null or status = any(:status)) and (:criteria::text[] is null or criteria = any(:criteria))
order by created_at, id
