-- What the header of a converted C-CDA document says of it among others (docs/merge.md, "What takes back what").
ALTER TABLE document_conversion
  -- `<root>|<extension>`
  ADD COLUMN cda_id text,
  -- The set of its versions with the kind of document, and its number in it.
  ADD COLUMN cda_set text,
  ADD COLUMN cda_version bigint,
  -- Ids of the documents that it replaces.
  ADD COLUMN cda_replaces text[];
