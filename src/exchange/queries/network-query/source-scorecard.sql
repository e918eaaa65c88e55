-- How the sources and connections of accounts did in a period (docs/source-scorecard.md). The period limits what is read, by the index
-- network_query_by_account; shares of codes and units are of the newest 500 patients found, so that their cost does not grow.
with asked as (
  select q.id, q.patient_id, t.source, t.attempt, p.connection_id, p.name, coalesce(p.namespace, '') as namespace,
    coalesce(p.status, t.status) as status, t.will_retry,
    coalesce(p.reason, t.reason, '') = any(:cancelled::text[]) as is_cancelled,
    case when p.query_id is null then t.failing_since else p.failing_since end is not null as fails, coalesce(p.pages, t.pages) as pages,
    coalesce(p.resources, t.resources) as resources, coalesce(p.documents, t.documents) as documents,
    coalesce(p.started_at, t.started_at) as started_at,
    case when p.query_id is null then t.first_page_at else p.first_page_at end as first_page_at
  from network_query q
  join network_query_attempt t on t.query_id = q.id
  left join network_query_part p on p.query_id = t.query_id and p.source = t.source and p.attempt = t.attempt
  where q.account_id = any(:accounts::uuid[]) and q.started_at >= :from and q.started_at < :to
), ended as (
  -- One row for a query and connection: its last attempt, and how long it took from the first one to the first page of any.
  select distinct on (id, source, connection_id) *,
    extract(epoch from min(first_page_at) over whole - min(started_at) over whole)::float8 as seconds
  from asked
  window whole as (partition by id, source, connection_id)
  order by id, source, connection_id, attempt desc
), found as (
  select distinct on (source, connection_id, patient_id) source, connection_id, patient_id, namespace, started_at
  from ended where status = 'completed' and pages > 0
  order by source, connection_id, patient_id, started_at desc
), sampled as (
  select *, row_number() over (partition by source, connection_id order by started_at desc, patient_id) as nth from found
), results as (
  select s.source, s.connection_id, count(*)::int as results,
    count(*) filter (where r.content @> '{"code": {"coding": [{"system": "http://loinc.org"}]}}')::int as coded,
    count(*) filter (where r.content ? 'valueQuantity')::int as measured,
    count(*) filter (where r.content @> '{"valueQuantity": {"system": "http://unitsofmeasure.org"}}'
      and r.content -> 'valueQuantity' ? 'code')::int as with_unit
  from sampled s
  cross join lateral delivered_by(s.source, s.patient_id, 'Observation') r
  where s.nth <= 500 and starts_with(r.source_id, s.namespace)
  group by 1, 2
), yields as (
  -- Of a patient who was asked about several times, the largest answer: the same is delivered again.
  select source, connection_id, sum(resources)::int as resources, sum(documents)::int as documents from (
    select source, connection_id, patient_id, max(resources) as resources, max(documents) as documents
    from ended where status = 'completed' group by 1, 2, 3) as patient
  group by 1, 2
), scored as (
  select source, connection_id, max(name) as name, count(*)::int as queries,
    count(*) filter (where status <> 'running' and not will_retry and not is_cancelled)::int as ended,
    count(*) filter (where status <> 'running' and is_cancelled)::int as cancelled,
    count(*) filter (where status = 'running' and fails or will_retry)::int as waiting,
    count(*) filter (where status = 'completed')::int as answered,
    count(distinct patient_id) filter (where status = 'completed')::int as patients,
    count(distinct patient_id) filter (where status = 'completed' and pages > 0)::int as found,
    percentile_cont(0.5) within group (order by seconds) as median_seconds,
    percentile_cont(0.95) within group (order by seconds) as p95_seconds
  from ended group by 1, 2
)
select s.source, s.connection_id as "connectionId", name as connection, queries, ended, cancelled, waiting, answered,
  round(answered::numeric / nullif(ended + waiting, 0), 4)::float8 as "responseRate",
  patients as "patientsAnswered", found as "patientsFound",
  round(found::numeric / nullif(patients, 0), 4)::float8 as "foundShare",
  round(median_seconds::numeric, 3)::float8 as "firstDataSecondsMedian",
  round(p95_seconds::numeric, 3)::float8 as "firstDataSecondsP95",
  coalesce(y.resources, 0) as resources, coalesce(y.documents, 0) as documents,
  round(y.resources::numeric / nullif(found, 0), 2)::float8 as "resourcesPerFoundPatient",
  round(y.documents::numeric / nullif(found, 0), 2)::float8 as "documentsPerFoundPatient",
  coalesce(results, 0) as results, round(coded::numeric / nullif(results, 0), 4)::float8 as "codedShare",
  coalesce(measured, 0) as measured, round(with_unit::numeric / nullif(measured, 0), 4)::float8 as "unitShare"
from scored s
left join yields y on y.source = s.source and y.connection_id is not distinct from s.connection_id
left join results r on r.source = s.source and r.connection_id is not distinct from s.connection_id
order by s.source, name nulls first, s.connection_id
