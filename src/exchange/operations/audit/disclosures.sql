select * from (
  select a.at,
    case when a.operation = 'fhirExport' then 'bulk export' when a.operation like 'fhir%' then 'fhir api'
      when a.operation like 'gateway%' then 'network gateway'
      when a.actor = 'link' then 'link' when a.actor like 'embed:%' then 'embedded page' else 'api' end as door,
    a.actor as recipient, case when a.operation like 'gateway%' then a.details::jsonb->>'organization' end as label,
    a.remote_address as "remoteAddress", a.operation as what, a.target_id as "targetId",
    case when a.operation like 'gateway%' then a.details::jsonb->>'purpose' end as purpose
  from audit_entry a
  where a.patient_id = :patientId and a.operation = any(:showing::text[]) and a.outcome like '2%'
    and :audited
  union all
  select m.sent_at, 'message', m.destination, null, null, m.transport_method, m.id::text, null
  from message m where m.patient_id = :patientId and m.direction = 'outbound' and m.status = 'completed'
    and :sent
  union all
  select e.delivered_at, 'webhook', coalesce(substring(d.url from '^[a-z]+://[^/?#]+'), '–'), null, null, e.type,
    coalesce(e.copy_of, e.id)::text, null
  from event e left join webhook_destination d on d.id = e.destination_id
  where e.patient_id = :patientId and e.delivered_at is not null and :delivered
  union all
  select l.opened_at, 'health link', l.recipient, null, l.remote_address, 'openHealthLink', l.link_id::text, null
  from health_link_opening l where l.patient_id = :patientId and :opened
  union all
  select q.started_at, 'network query',
    (select string_agg(asked->>'source', ' ') from jsonb_array_elements(q.requested) as asked), null, null,
    'demographics, to find the patient', q.id::text, q.purpose_of_use
  from network_query q where q.patient_id = :patientId and :asked
) as disclosure order by at, door limit :limit
