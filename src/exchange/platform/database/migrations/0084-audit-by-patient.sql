-- For the disclosures of one patient: without it, the report reads all audit entries of all accounts.
CREATE INDEX audit_entry_by_patient ON audit_entry (account_id, patient_id, at) WHERE patient_id IS NOT NULL;
