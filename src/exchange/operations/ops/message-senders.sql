with recent as (
  select sender, is_number_reused, received_at, unused from inbound_message
  where id >= :firstId::uuid),
drifts as materialized (select * from sender_drift(:driftSince::uuid)),
places as (
  select sender, place, count(*)::int as messages,
    row_number() over (partition by sender order by count(*) desc, place) as nth
  from recent cross join lateral unnest(unused) as place group by 1, 2)
select r.sender, count(*)::int as messages, count(*) filter (where r.is_number_reused)::int as "numbersReused",
  greatest(extract(epoch from now() - max(r.received_at)), 0)::float8 as "silentSeconds",
  coalesce((select jsonb_agg(jsonb_build_object('place', p.place, 'messages', p.messages) order by p.nth)
    from places p where p.sender = r.sender and p.nth <= :most), '[]') as unused,
  coalesce((select jsonb_agg(to_jsonb(d) - 'sender') from drifts d where d.sender = r.sender), '[]') as drift
from recent r group by r.sender order by r.sender limit :most
