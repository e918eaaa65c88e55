with used as (update health_link set used_at = now() where id = :linkId and is_one_time)
insert into health_link_opening (id, link_id, account_id, patient_id, recipient, remote_address)
values (:id, :linkId, :accountId, :patientId, :recipient, :remoteAddress)
