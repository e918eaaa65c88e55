-- As in 0203, with the columns that conversions have got since: a list of documents says which of them are replaced.
CREATE OR REPLACE VIEW responder.document_conversion WITH (security_barrier) AS
  SELECT c.* FROM public.document_conversion c WHERE c.document_id IN (SELECT id FROM responder.document);
