-- When the newest step on an attempt's gateways began, or reconcile last signalled its workflow to begin the next one.
ALTER TABLE network_query_attempt ADD COLUMN gateway_step_at timestamptz(3);
