-- The few entries in which a sealer or an operator says something.
CREATE INDEX audit_entry_with_details ON audit_entry (account_id, operation) WHERE details IS NOT NULL;
