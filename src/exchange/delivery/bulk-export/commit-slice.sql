with written as (
  update bulk_export
  set slices = :slice + 1, known_slices = :slice + 1, done = :done, place = :place::jsonb, resources = resources + :resources,
    status = case when :isLast then 'completed' else status end, ended_at = case when :isLast then now() end
  where id = :id and status = 'running' and slices = :slice
  returning *
), parts as (
  insert into bulk_export_part (export_id, slice, account_id, kind, resource_type, lines, content)
  select w.id, :slice, w.account_id, p.kind, p."resourceType", p.lines, p.content
  from written w, jsonb_to_recordset(:parts::jsonb) p (kind text, "resourceType" text, lines int, content jsonb)
), missing as (
  delete from bulk_export_patient m using written w where m.export_id = w.id and m.ordinal = any(:missingOrdinals::int[])
)
select * from written
