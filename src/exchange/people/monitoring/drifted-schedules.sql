select * from (
  select w.account_id as "accountId", w.cohort_id as "cohortId", w.kind
  from wanted_cohort_schedule w left join cohort_schedule s on s.cohort_id = w.cohort_id and s.kind = w.kind
  where (:cohortId::uuid is null or w.cohort_id = :cohortId::uuid)
    and (:after::uuid is null or w.cohort_id > :after::uuid)
    and (:upTo::uuid is null or w.cohort_id <= :upTo::uuid)
    and (s.held_until is null or s.held_until < now())
    and case when (w.wanted->>'enabled')::boolean
      then s.applied is distinct from w.wanted or s.rules < :rules::int
      else s.cohort_id is not null and s.applied is distinct from w.wanted end
  union all
  select s.account_id, s.cohort_id, s.kind
  from cohort_schedule s
  where (:cohortId::uuid is null or s.cohort_id = :cohortId::uuid)
    and (:after::uuid is null or s.cohort_id > :after::uuid)
    and (:upTo::uuid is null or s.cohort_id <= :upTo::uuid)
    and (s.held_until is null or s.held_until < now())
    and not exists (select from cohort where cohort.id = s.cohort_id)
) as drifted
order by random() limit :limit
