-- A pause that the audit does not name was made in Temporal.
select 'bulk-create' as kind, b.account_id as "accountId", b.id as "requestId", p.at as since, p.actor
from bulk_request b left join lateral last_pause(b.account_id, 'pauseBulkCreate', b.id::text) p on true
where b.status = 'processing' and b.paused
union all
select 'post-import-queries', s.account_id, s.request_id, p.at, p.actor
from bulk_sweep s left join lateral last_pause(s.account_id, 'pauseQuerySweep', s.request_id::text) p on true
where s.ended_at is null and s.state = 'paused'
order by 4, 3 limit :most
