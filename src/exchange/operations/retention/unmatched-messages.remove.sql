with gone as (
  delete from inbound_message m using inbound_event e
  where e.message_id = m.id and e.subject_id in (
    select s.id from inbound_subject s where s.id = any(:ids::uuid[]) and :due)
  returning m.content->>'ref' as ref
)
insert into erasure (kind, ref) select 'blob', ref from gone on conflict do nothing
