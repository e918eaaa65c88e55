-- For the daily sweep of the retention rule `retired-resources`.
CREATE INDEX retired_resource_by_time ON retired_resource (retired_at);
