select e.patient_id as "patientId", e.number, e.occurred_at as "at",
  case when e.copy_of is null then e.body -> 'events' else (
    select jsonb_build_array(jsonb_build_object('focus', jsonb_build_object('type', 'Patient', 'id', m.patient_id),
      'triggers', triggers_of(m.type, m.body))) from event m where m.id = e.copy_of) end as events
from event e
where e.destination_id = :id and (:eventId::uuid is null or e.id = :eventId) and e.number >= :since order by e.number limit :limit
