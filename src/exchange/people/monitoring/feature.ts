import {
  type Feature,
  NO_ROUTES,
  type OpenFeature,
} from '../../platform/feature.ts';
import type { CohortSchedules } from './cohort-schedules.ts';

/**
 * Keeps the Temporal Schedules in line with the cohorts' monitoring settings.
 * The orchestrator runs the monitoring itself.
 */
export const monitoringFeature = {
  open: ({
    cohortSchedules,
  }: {
    cohortSchedules: CohortSchedules;
  }): OpenFeature => ({
    recoveries: [cohortSchedules.recovery],
    drain: cohortSchedules.drain,
  }),
  routes: NO_ROUTES,
} satisfies Feature;
