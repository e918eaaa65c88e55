-- Number of the conversion rules (`CONVERSION_RULES`) by which a document was converted; 0 for the versions that did not note
-- it. A document converted by older rules is converted again before its patient's record is merged or read.
ALTER TABLE document_conversion ADD COLUMN rules integer NOT NULL DEFAULT 0;
