-- A file that a source gives with a report and as a document of its own is listed once, as the document.
(
  select * from (
    select *, bool_or(file_owner_type(source_document_id) = 'DocumentReference') over (partition by source, sha256) as is_document
    from (
      select d.*,
        :broughtBy as brought_by,
        first_value(:broughtBy) over (
          partition by d.source, coalesce(d.source_document_id, encode(d.sha256, 'hex'))
          order by d.created_at desc, d.id desc) as brought_last_by,
        row_number() over (
          partition by d.source, coalesce(d.source_document_id, ''), d.query_id, d.sha256
          order by d.created_at desc, d.id desc) as nth
      from document d
      where d.patient_id = :patientId and d.kind = 'attachment' and not :isTakenBack and not is_withheld(d, (
        select array(select withheld_resources(p.account_id, p.id)) from patient p where p.id = :patientId)) :of
    ) as delivered
    where brought_by = brought_last_by and nth = 1
  ) as brought
  where file_owner_type(source_document_id) = 'DocumentReference' or not is_document)
