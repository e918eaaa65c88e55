-- A redrive also retries queries that were refused at the source when they were accepted; few are.
CREATE INDEX network_query_refused ON network_query (account_id, started_at, id) WHERE start_errors <> '[]';
