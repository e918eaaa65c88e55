with asked as (
  select * from unnest(:indexes::int[], :accountIds::uuid[],
    :eventIds::uuid[], :areWhole::boolean[]
  ) with ordinality as asked (index, account_id, id, is_whole, place)
), found as materialized (
  select e.id, e.destination_id, asked.index, asked.place
  from asked join event as e on e.id = asked.id and e.account_id = asked.account_id
  union all
  select e.id, e.destination_id, asked.index, asked.place
  from asked join event as e on e.copy_of = asked.id and e.account_id = asked.account_id where asked.is_whole
)
select found.id, found.destination_id, found.index
from found join webhook_destination as d on d.id = found.destination_id
where d.held_until is null order by found.place
