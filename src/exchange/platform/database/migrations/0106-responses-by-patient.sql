-- Deleting a patient deletes the responses about the patient, and read all of the account's to find them.
-- Responses that a version before 0017 stored have no patient beside them.
UPDATE idempotency_key SET patient_id = coalesce(answer #>> '{body,patientId}', answer #>> '{body,id}')::uuid
WHERE patient_id IS NULL AND coalesce(answer #>> '{body,patientId}', answer #>> '{body,id}') ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
CREATE INDEX idempotency_key_by_patient ON idempotency_key (account_id, patient_id) WHERE patient_id IS NOT NULL;
