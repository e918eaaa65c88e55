select t.source, case when t.will_retry then 'running' else t.status end as outcome, count(*)::int as queries
from account a
cross join lateral (
  select id from network_query q where q.account_id = a.id and q.started_at > now() - interval '1 hour') as q
cross join lateral (
  select distinct on (source) source, status, will_retry from network_query_attempt t
  where t.query_id = q.id order by source, attempt desc) as t
group by 1, 2
