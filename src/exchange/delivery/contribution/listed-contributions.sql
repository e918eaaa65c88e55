-- An upload that was begun within the hour of its address has another one to end.
select id, kind, created_at as "contributedAt", case when awaiting is null then 'received'
    when created_at > now() - interval '2 hours' then 'awaiting-upload' else 'never-arrived' end as status,
  (select count(*)::int from contributed_resource r where r.contribution_id = c.id) as resources
from contribution c where patient_id = :patientId order by created_at desc, id desc
