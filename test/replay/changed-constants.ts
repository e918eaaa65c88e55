import { DEFAULT_SWEEP_PACE } from '../../src/contract/bulk-create-workflow.ts';
import { DEFAULT_BULK_TIMING } from '../../src/contract/bulk-onboarding.ts';
import { DEFAULT_MONITORING_PACE } from '../../src/contract/cohort-monitoring.ts';
import { FOLLOW_UP_PLAN } from '../../src/contract/discharge-follow-up-workflow.ts';
import { DEFAULT_ONBOARDING_TIMING } from '../../src/contract/patient-onboarding.ts';
import {
  OUR_RETRIES,
  SOURCE_RETRIES,
} from '../../src/exchange/queries/network-query/rules/retries.ts';

/**
 * Our workflows after every default has been changed. Runs in progress must not
 * notice: the values that decide about their commands are in their input.
 */
Object.assign(DEFAULT_ONBOARDING_TIMING, {
  pollFirstMs: 7_200_000,
  pollMaxMs: 7_200_000,
  restartFirstMs: 7_200_000,
  restartsMax: 0,
  deadlineMs: 1,
});
Object.assign(DEFAULT_BULK_TIMING, {
  pollFirstMs: 7_200_000,
  pollMaxMs: 7_200_000,
  requestsMax: 0,
  deadlineMs: 1,
});
Object.assign(DEFAULT_SWEEP_PACE, {
  pageSize: 1,
  windowSize: 1,
  openMax: 1,
  pagesPerRun: 1,
});
Object.assign(DEFAULT_MONITORING_PACE, {
  pageSize: 1,
  requestsPerMinute: 1,
  pagesPerRun: 1,
  shareOfRequests: 0.01,
});
Object.assign(FOLLOW_UP_PLAN, { roundsMs: [], lastQueryMs: 1 });
for (const retries of Object.values(SOURCE_RETRIES))
  Object.assign(retries, {
    deadlineMs: 1,
    nextAttemptAfterMs: [],
    pollFirstMs: 7_200_000,
    pollShare: 0,
    pollMaxMs: 7_200_000,
  });
Object.assign(OUR_RETRIES, {
  initialInterval: 1,
  backoffCoefficient: 1,
  maximumInterval: 1,
});

export * from '../../src/workflows/index.ts';
