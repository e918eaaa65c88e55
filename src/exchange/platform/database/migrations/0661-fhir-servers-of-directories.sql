-- Queries over the FHIR servers of a network's directory (docs/decisions/0660-a-network-of-fhir-servers.md).

-- The entry that stands for the FHIR server which answers for this one. Entries with one address are one server.
ALTER TABLE directory_entry ADD COLUMN fhir_gateway_id text;
CREATE INDEX directory_entry_by_fhir_gateway ON directory_entry (directory, fhir_gateway_id);
