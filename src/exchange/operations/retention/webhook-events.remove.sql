delete from event where id in (
  select e.id from event e where :due and not :held
  order by e.opened_at limit :limit for update skip locked)
returning account_id as "accountId"
