insert into possible_duplicate as d
  (id, account_id, patient_id, other_patient_id, grade, score, agrees, contradicts, rules_version)
select given.id, given."accountId", given.first, given.second, given.grade, given.score,
  array(select json_array_elements_text(given.agrees)), array(select json_array_elements_text(given.contradicts)),
  :rulesVersion::integer
from :given
-- Patients that are being deleted are left out.
where (select count(*) from (select from patient p where p.id in (given.first, given.second) for key share) there) = 2
on conflict (patient_id, other_patient_id) do update
set grade = excluded.grade, score = excluded.score, agrees = excluded.agrees, contradicts = excluded.contradicts,
  rules_version = excluded.rules_version
where d.status = 'open'
