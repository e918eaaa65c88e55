import type { SweepPace } from '../../contract/bulk-create-workflow.ts';
import type { BulkOnboardingTiming } from '../../contract/bulk-onboarding.ts';
import type { MonitoringPace } from '../../contract/cohort-monitoring.ts';
import type { FollowUpPlan } from '../../contract/discharge-follow-up-workflow.ts';
import type { SourceSteering } from '../../contract/network-query-workflow.ts';
import type { OnboardingTiming } from '../../contract/patient-onboarding.ts';
import type { SourceType } from '../../contract/primitives.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * What applies to a run whose input does not state these values. They decide which commands a workflow issues, and a run
 * must replay with the values that it began with. So they never change, and workflow code reads the current defaults of
 * src/contract nowhere: whatever starts a workflow writes those into its input.
 */
export const UNSTATED: {
  readonly onboarding: OnboardingTiming;
  readonly bulkOnboarding: BulkOnboardingTiming;
  readonly sweep: SweepPace;
  readonly monitoring: MonitoringPace;
  readonly sources: Record<SourceType, SourceSteering>;
  readonly followUp: FollowUpPlan;
  readonly receiptWithinMs: number;
} = {
  onboarding: {
    pollFirstMs: 30 * SECOND,
    pollMaxMs: 15 * MINUTE,
    restartFirstMs: 30 * SECOND,
    restartsMax: 5,
    deadlineMs: 35 * DAY,
  },
  bulkOnboarding: {
    pollFirstMs: 5 * SECOND,
    pollMaxMs: 5 * MINUTE,
    requestsMax: 3,
    deadlineMs: 7 * DAY,
  },
  sweep: { pageSize: 50, windowSize: 50, openMax: 5_000, pagesPerRun: 200 },
  monitoring: { pageSize: 100, requestsPerMinute: 400, pagesPerRun: 200, shareOfRequests: 1 / 3 },
  sources: {
    hie: { deadlineMs: 2 * DAY, nextAttemptAfterMs: [5 * SECOND, 5 * MINUTE] },
    pharmacy: { deadlineMs: 6 * HOUR, nextAttemptAfterMs: [5 * SECOND, 5 * MINUTE] },
    lab: { deadlineMs: 7 * DAY, nextAttemptAfterMs: [5 * SECOND, 5 * MINUTE] },
  },
  followUp: {
    roundsMs: [5 * MINUTE, 30 * MINUTE, 4 * HOUR, 1 * DAY, 2 * DAY, 4 * DAY],
    lastQueryMs: 7 * DAY,
  },
  receiptWithinMs: 3 * DAY,
};
