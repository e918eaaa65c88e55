with due as (
  select r.id, r.account_id, r.result->>'ref' as ref from bulk_request r
  where :due and not :held order by r.ended_at limit :limit for update skip locked
), erased as (
  insert into erasure (kind, ref, account_id) select 'blob', ref, account_id from due on conflict do nothing
)
update bulk_request r set result = null from due where r.id = due.id
returning r.account_id as "accountId"
