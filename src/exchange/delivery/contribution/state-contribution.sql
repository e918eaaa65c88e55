insert into contribution (id, account_id, patient_id, kind, contributed_by, awaiting, file_sha256, to_be_read)
values (:id, :accountId, :patientId, :kind, :contributedBy, :awaiting, :fileSha256, :toBeRead)
-- The file of a document has come.
on conflict (id) do update set awaiting = null, file_sha256 = excluded.file_sha256, to_be_read = excluded.to_be_read
