-- The Temporal Schedules of scheduled monitoring: what they were last made from, so that `reconcile` finds those that
-- are not as the cohort's and the account's settings want them. A row outlives its cohort until the schedule is gone.

CREATE TABLE cohort_schedule (
  cohort_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('hie', 'pharmacy')),
  account_id uuid NOT NULL REFERENCES account,
  -- As `wanted_cohort_schedule` had it when the schedule was last written; null: not yet.
  applied jsonb,
  -- Version of the program's rules for it.
  rules integer,
  -- SHA-256 of how Temporal described the schedule after that; something else now means a change from outside.
  fingerprint bytea,
  checked_at timestamptz(3),
  -- Who writes the schedule holds it until then; nobody else touches it.
  held_until timestamptz(3),
  PRIMARY KEY (cohort_id, kind)
);
CREATE INDEX cohort_schedule_by_check ON cohort_schedule (checked_at);
SELECT guard_account_table('cohort_schedule');

-- What each schedule should be made from.
CREATE VIEW wanted_cohort_schedule WITH (security_invoker = true) AS
SELECT cohort.account_id, cohort.id AS cohort_id, kind, CASE WHEN (schedule->>'enabled')::boolean THEN
    jsonb_build_object(
      'enabled', true,
      'frequency', coalesce(schedule->>'frequency', 'monthly'),
      'hours', account.settings->'monitoring',
      'networkQueriesPerMinute', account.settings#>'{limits,networkQueriesPerMinute}'
    )
  ELSE '{"enabled": false}' END AS wanted
FROM cohort JOIN account ON account.id = cohort.account_id
CROSS JOIN LATERAL (VALUES
  ('hie', cohort.settings#>'{monitoring,hie}'),
  ('pharmacy', cohort.settings#>'{monitoring,pharmacy,schedule}')
) AS kinds (kind, schedule);
GRANT SELECT ON wanted_cohort_schedule TO exchange_app, exchange_system;
