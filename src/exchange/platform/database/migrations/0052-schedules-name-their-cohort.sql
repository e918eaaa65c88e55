-- The Temporal Schedule of a cohort's monitoring names the cohort, so it also follows a change of the name. Earlier versions
-- ignore the member `name`.

CREATE OR REPLACE VIEW wanted_cohort_schedule WITH (security_invoker = true) AS
SELECT cohort.account_id, cohort.id AS cohort_id, kind, CASE WHEN (schedule->>'enabled')::boolean THEN
    jsonb_build_object(
      'enabled', true,
      'name', cohort.name,
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
