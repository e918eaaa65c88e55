with due as materialized (
  select e.id from event e where :due and not :held
  order by e.opened_at limit :limit for update skip locked
)
delete from event using due where event.id = due.id
returning event.account_id as "accountId"
