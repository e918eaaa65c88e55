-- The process that accepted the work has two minutes to start its workflow, then `reconcile` does it within its interval.
select kind, open, "notStarted", coalesce(greatest(extract(epoch from now() - oldest), 0), 0)::float8 as "oldestSeconds"
from (
  select 'network-query' as kind, count(*) as open, min(requested_at) as oldest,
    count(*) filter (where workflow_started_at is null and requested_at < now() - interval '2 minutes') as "notStarted"
  from network_query_run where ended_at is null
  union all
  select 'bulk-create', count(*), min(created_at), count(*) filter (where workflow_started_at is null and created_at < now() - interval '2 minutes')
  from bulk_request where status = 'processing' and not paused
  union all
  select 'post-import-queries', count(*), min(b.ended_at), 0
  from bulk_sweep s join bulk_request b on b.id = s.request_id where s.ended_at is null and s.state = 'running'
  union all
  select 'consolidated-query', count(*), min(created_at), count(*) filter (where workflow_started_at is null and created_at < now() - interval '2 minutes')
  from consolidated_query where status = 'processing'
  union all
  select 'bulk-export', count(*), min(created_at), count(*) filter (where workflow_started_at is null and created_at < now() - interval '2 minutes')
  from bulk_export where status = 'running'
  union all
  select 'redrive', count(*), min(created_at),
    count(*) filter (where workflow_seen_at is null and created_at < now() - interval '2 minutes')
  from query_redrive where ended_at is null
  union all
  select 'outbound-message', count(*), min(sent_at), count(*) filter (where workflow_started_at is null and sent_at < now() - interval '2 minutes')
  from message where direction = 'outbound' and status = 'processing'
  union all
  select 'record-notification', count(*), min(changed_at), 0
  from recorded_subject where wanted > recorded or to_be_read
  union all
  select 'erasure', count(*), min(noted_at), 0 from erasure
  union all
  select 'audit-sealing', count(*), min(at), 0 from audit_entry where position is null
  union all
  select 'record-packing', count(*), min(due_at), 0
  from record_to_pack where due_at <= now()
) as work
