-- By the index of unmatched messages.
s.id in (
  select e.subject_id from inbound_message m join inbound_event e on e.message_id = m.id
  where m.outcome in ('unmatched', 'ambiguous', 'incomplete') and m.received_at < :before)
and s.updated_at < :before
and exists (select from inbound_event e where e.subject_id = s.id)
and not exists (select from notification n where n.subject_id = s.id)
and not exists (select from recorded_subject r where r.subject_id = s.id)
and not exists (
  select from inbound_event e join inbound_message m on m.id = e.message_id
  where e.subject_id = s.id and (
    m.outcome not in ('unmatched', 'incomplete') or m.received_at >= :before
    or exists (select from inbound_event other where other.message_id = m.id and other.subject_id <> s.id)))
