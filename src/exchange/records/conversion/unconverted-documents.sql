with candidates as (
  select d.id, d.query_id as "queryId", :broughtBy as "broughtBy", d.source, d.source_document_id as "sourceDocumentId",
    d.content_type like '%xml%' as "saysXml", d.size_bytes as "sizeBytes", encode(d.sha256, 'hex') as sha256,
    d.blob_ref as "blobRef", d.created_at, c.outcome as "formerOutcome", c.reason as "formerReason",
    coalesce(c.rules < :rules, true) as "isOutdated"
  from document d left join document_conversion c on c.document_id = d.id
  where d.patient_id = :patientId and :wanted and :mayBeCcda
), due as (
  select distinct source, "sourceDocumentId" from candidates
  where "isOutdated" and ("formerOutcome" is null or "formerOutcome" in (:convertedAgain))
)
select c.* from candidates c join due using (source, "sourceDocumentId")
join document d using (id)
where not :isTakenBack and (d.source, d.source_document_id) not in (:replaced)
order by c.created_at, id
