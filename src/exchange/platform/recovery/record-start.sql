insert into activity_start (account_id, work, progress, starts, processes)
values (:accountId, :name, :progress, 1, array[:by])
on conflict (account_id, work) do update set
  progress = excluded.progress,
  processes = :others || excluded.processes,
  starts = cardinality(:others) + 1,
  started_at = now()
where cardinality(:others) < :startsMax::int
returning starts
