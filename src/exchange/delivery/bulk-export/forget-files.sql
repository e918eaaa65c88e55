-- The patients of the last run of views stay: the next incremental one says who has left.
with parts as (
  delete from bulk_export_part where export_id = :id
), marked as (
  update bulk_export set files_deleted_at = now() where id = :id
)
delete from bulk_export_patient m using bulk_export e, bulk_export own
where own.id = :id and m.export_id = e.id and e.account_id = own.account_id
  and (e.id = own.id or (e.view_key = own.view_key and e.files_deleted_at is not null))
  and (e.view_key is null or e.status <> 'completed' or exists (
    select from bulk_export newer
    where newer.account_id = e.account_id and newer.view_key = e.view_key
      and newer.status = 'completed' and newer.created_at > e.created_at))
