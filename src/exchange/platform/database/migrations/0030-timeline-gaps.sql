-- Whether the patient's record lacks something because of what an entry reports, so that no reader has to understand its
-- message. Null in the entries of older versions.
ALTER TABLE network_query_timeline ADD COLUMN is_gap boolean;
