select r.account_id as "accountId", r.id as "requestId", r.ended_at as since
from bulk_request r
where r.status = 'completed' and not r.dry_run and r.created + r.updated > 0
  and r.ended_at between now() - interval '1 day' and now() - :graceMs * interval '1 millisecond'
  and not exists (select from bulk_sweep s where s.request_id = r.id)
order by r.ended_at limit :limit
