select count(*) as open, count(*) filter (where exists (
  select from network_query_attempt a
  where a.query_id = q.id and a.status = 'running' and (a.job is null or a.pages > 0)
)) as busy
from network_query q join bulk_patient p on p.query_id = q.id
where q.account_id = :accountId::uuid and q.status = 'running' and q.origin = 'bulk'
  and p.request_id = :requestId::uuid
