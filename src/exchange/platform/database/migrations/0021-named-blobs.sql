-- The sweep of blobs that nobody names asks for each by its reference (named-blobs.ts).
CREATE INDEX document_by_blob ON document (blob_ref);
CREATE INDEX document_rendition_by_blob ON document_rendition (blob_ref);
CREATE INDEX bulk_request_by_upload ON bulk_request ((upload->>'ref'));
CREATE INDEX bulk_request_by_result ON bulk_request ((result->>'ref'));
CREATE INDEX bulk_chunk_by_result ON bulk_chunk ((result->>'ref'));
CREATE INDEX consolidated_query_by_result ON consolidated_query ((result->>'ref'));
CREATE INDEX inbound_message_by_content ON inbound_message ((content->>'ref'));
CREATE INDEX erasure_by_ref ON erasure (ref);
