select source, sum(resources)::int as resources, sum(documents)::int as documents,
  sum("fromDocuments")::int as "fromDocuments", sum("byMessage")::int as "byMessage", max("lastMessage") as "lastMessage" from (
  select source, count(*) as resources, 0 as documents,
    count(*) filter (where is_converted and not reported) as "fromDocuments",
    count(*) filter (where reported) as "byMessage", max(collected_at) filter (where reported) as "lastMessage"
  from (select source, collected_at, converted_from is not null as is_converted,
      coalesce(file_owner_id(converted_from), source_id) ~ :ofMessage as reported
    from patient_resource where patient_id = :patientId) as kept group by source
  union all
  select source, 0, count(*), 0, 0, null from :documents as listed group by source
) as counts group by source
