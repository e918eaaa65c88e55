select r.account_id as "accountId", r.id as "requestId", r.ended_at as since,
  r.created + r.updated > 0 and s.request_id is null as "isUnswept"
from (
  select * from bulk_request
  where status = 'completed' and not dry_run and ended_at > :after and ended_at < now() - interval '1 day'
  order by ended_at limit :slice
) r left join bulk_sweep s on s.request_id = r.id
order by r.ended_at
