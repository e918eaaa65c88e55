with attempt as (
  select query_id, source, attempt, null::uuid as connection_id, job from network_query_attempt
  where :which and status = 'running' for update),
part as (
  select query_id, source, attempt, part.connection_id, part.job
  from network_query_part as part join attempt using (query_id, source, attempt)
  where part.status = 'running' for update of part)
insert into abandoned_job (account_id, query_id, source, attempt, connection_id, purpose_of_use, job)
select :accountId, query_id, source, attempt, connection_id, purpose_of_use, job
from (select * from attempt union all select * from part) as open join network_query as query on query.id = open.query_id
where job is not null
