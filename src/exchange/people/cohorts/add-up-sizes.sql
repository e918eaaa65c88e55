with due as materialized (
  select id from cohort_size_change order by id limit :limit for update skip locked
), taken as (
  delete from cohort_size_change as each using due where each.id = due.id returning cohort_id, change
), summed as (
  update cohort set patients_counted = patients_counted + part.change
  from (select cohort_id, sum(change) as change from taken group by cohort_id) as part
  where cohort.id = part.cohort_id
)
select count(*) as changes from taken
