select e.id, later.id as next_id, d.looks_at > now() and (
    select open.id from event as open where open.destination_id = d.id and open.status in ('pending', 'delivering')
    order by open.seq limit 1) is null as needs_look
from event as e join webhook_destination as d on d.id = e.destination_id
  left join lateral (
    select later.id from event as later
    where later.patient_id = e.patient_id and later.seq > e.seq and later.status = 'pending'
      and :isSameDestination
    order by later.seq limit 1) as later on true
where e.id = any(:ids::uuid[])
