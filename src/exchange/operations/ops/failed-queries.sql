select f."accountId", f.source, f.state, count(*)::int as queries, min(f.at) as since, max(f.at) as last from (
  select a.id as "accountId", t.source, 'failed' as state, t.completed_at as at
  from account a join network_query_attempt t on t.account_id = a.id
  where t.status = 'failed' and not t.will_retry and t.completed_at > now() - interval '1 day'
    and coalesce(t.reason, '') <> all(:cancelled)
    and not exists (
      select from network_query_attempt n
      where n.query_id = t.query_id and n.source = t.source and n.attempt > t.attempt)
  union all
  select a.id, refusal ->> 'source', 'refused', q.started_at
  from account a join network_query q on q.account_id = a.id
  cross join lateral jsonb_array_elements(q.start_errors) as refusal
  where q.started_at > now() - interval '1 day'
    and not exists (
      select from network_query_attempt n where n.query_id = q.id and n.source = refusal ->> 'source')
) as f group by 1, 2, 3 order by 4 desc, 1, 2, 3 limit :most
