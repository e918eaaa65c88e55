delete from network_query_timeline where id in (
  select t.id from network_query_timeline t join network_query q on q.id = t.query_id
  where :due and not :held
  order by t.at limit :limit for update of t skip locked)
returning account_id as "accountId"
