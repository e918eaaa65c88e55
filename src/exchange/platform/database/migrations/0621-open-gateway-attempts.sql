-- The few running attempts that ask gateways, for reconcile and the metrics, which look at those of all accounts.
CREATE INDEX network_query_attempt_gateways ON network_query_attempt (gateways_chosen_at)
  WHERE status = 'running' AND gateways_chosen_at IS NOT NULL;
