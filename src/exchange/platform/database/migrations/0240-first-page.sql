-- When the first page of an attempt, or of a part of it, was stored: the source scorecard tells how long a source takes to it.
ALTER TABLE network_query_attempt ADD COLUMN first_page_at timestamptz;
ALTER TABLE network_query_part ADD COLUMN first_page_at timestamptz;
