-- How long operators have kept an attempt, or a part of it, from calling its source: that time does not count for its deadline.
ALTER TABLE network_query_attempt ADD COLUMN paused_ms double precision NOT NULL DEFAULT 0;
ALTER TABLE network_query_part ADD COLUMN paused_ms double precision NOT NULL DEFAULT 0;
