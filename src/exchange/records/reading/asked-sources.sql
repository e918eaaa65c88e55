with attempts as (
  select a.* from network_query_attempt a join network_query q on q.id = a.query_id
  where q.patient_id = :patientId
), complete as (
  select distinct on (source) source, query_id, attempt, completed_at, collection from attempts
  where status = 'completed' order by source, completed_at desc, attempt desc
), over_gateways as (
  select distinct on (source) source, query_id, attempt, started_at from attempts
  where gateways_chosen_at is not null order by source, started_at desc, attempt desc
)
select l.source, l.reason, l.last_attempted as "lastAttempted", c.completed_at as "lastCompleted",
  case when l.runs then 'running' when l.waits then 'waiting' else l.status end as state,
  -- Of several connections, the one that was asked for everything the longest ago.
  (select jsonb_build_object('since', o.asked->'since', 'fullAt', o.asked->'fullAt') from (
    select c.collection as asked union all
    select p.collection from network_query_part p where p.query_id = c.query_id and p.source = c.source
      and p.attempt = c.attempt and p.status = 'completed') o
    where o.asked->>'since' is not null order by o.asked->>'fullAt' limit 1) as changes,
  (select array_agg(t.message order by t.id) from network_query_timeline t
    where t.query_id = c.query_id and t.source = c.source and t.attempt = c.attempt and t.kind = 'incomplete'
      and t.is_gap) as omissions,
  case when g.query_id is not null then (
    select to_jsonb(counts) || jsonb_build_object('askedAt', g.started_at)
    from gateway_counts(g.query_id, g.source, g.attempt) counts) end as organizations
from (
  select source, bool_or(status = 'running') as runs, bool_or(will_retry) as waits,
    max(started_at) as last_attempted,
    (array_agg(status order by started_at desc, attempt desc))[1] as status,
    (array_agg(reason order by started_at desc, attempt desc))[1] as reason
  from attempts group by source
) l left join complete c on c.source = l.source left join over_gateways g on g.source = l.source
