select account_id as "accountId", id as "exportId", coalesce(ended_at, created_at) as since from bulk_export
where files_deleted_at is null and status <> 'running'
  and (status <> 'completed' or ended_at < now() - :keptHours * interval '1 hour' or :containsDeleted)
order by ended_at limit :limit
