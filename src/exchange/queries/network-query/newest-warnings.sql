select distinct on (1, 2, 3) t.source, k.connection_id as "connectionId", k.kind, t.message, t.at
from network_query_timeline t
cross join lateral (
  select split_part(t.once_key, '/', 1) as kind, nullif(split_part(t.once_key, '/', 4), '') as connection_id) as k
where not t.is_gap and t.at > now() - interval '1 day' and t.kind = 'notice' and k.kind = any(:kinds)
order by 1, 2, 3, t.at desc
