with found as (
  select id from patient
  where dob = :birthDate::date and left(addresses -> 0 ->> 'zip', 5) = any(:zips::text[])
  union
  select patient_id from notification where subject_id = :subjectId
  union
  select patient_id from recorded_subject where subject_id = :subjectId and is_about
)
select p.id, p.account_id as "accountId", p.first_names as "firstNames", p.last_names as "lastNames", p.dob, p.gender,
  p.addresses, p.contacts, p.personal_identifiers as "personalIdentifiers",
  coalesce(
    (select r.is_about from recorded_subject r where r.subject_id = :subjectId and r.patient_id = p.id),
    exists (select from notification n where n.subject_id = :subjectId and n.patient_id = p.id)) as "isLinked"
from patient p join found on found.id = p.id
order by p.created_at, p.id
