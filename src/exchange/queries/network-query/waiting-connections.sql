-- The connections that sources of open queries wait for: their calls fail, or a first answer takes more than twice as long as 95 % of
-- the newest queries took there (at least 90 seconds, which also holds where nothing is known).
with began as (
  select distinct on (t.query_id, t.source) t.*,
    min(t.started_at) over (partition by t.query_id, t.source) as began
  from network_query_run r join network_query_attempt t on t.query_id = r.query_id and t.run = r.run
  where r.ended_at is null
  order by t.query_id, t.source, t.attempt desc
), waiting as (
  select b.account_id, b.query_id, b.source, coalesce(p.connection_id::text, b.source) as connection, b.began, b.will_retry,
    coalesce(p.pages, b.pages) as pages, b.paused_ms + coalesce(p.paused_ms, 0) as paused_ms,
    b.will_retry or (case when p.query_id is null then b.failing_since else coalesce(p.failing_since, p.next_try_at) end) is not null as fails,
    coalesce(p.waiting_for, p.reason, b.waiting_for, b.reason) as reason
  from began b left join network_query_part p on p.query_id = b.query_id and p.source = b.source and p.attempt = b.attempt
  where b.status = 'running' and coalesce(p.status, 'running') = 'running'
    or b.will_retry and coalesce(p.status, 'failed') = 'failed'
), usual as (
  select t.source, percentile_cont(0.95) within group (order by extract(epoch from t.completed_at - t.started_at)) as seconds
  from (select distinct account_id from waiting where not fails) as a
  cross join lateral (
    select id from network_query q where q.account_id = a.account_id and q.ended_at is not null and q.started_at > now() - interval '30 days'
    order by q.started_at desc limit 100) as q
  join network_query_attempt t on t.query_id = q.id and t.status = 'completed'
  group by 1
), late as (
  select w.*, u.seconds as usual,
    greatest(90, 2 * u.seconds) as allowed
  from waiting w left join usual u on u.source = w.source
)
select connection, source, count(*)::int as queries, count(*) filter (where fails)::int as failing, min(began) as since,
  (array_agg(query_id order by began))[1] as "oldestQueryId", max(usual)::float8 as "usualSeconds",
  (array_agg(reason order by began) filter (where fails and reason is not null))[1] as reason
from late
where fails and began < now() - interval '1 minute'
  or not fails and pages = 0 and extract(epoch from now() - began) - paused_ms / 1000.0 > allowed
group by 1, 2 order by min(began), 1
