import {
  type Feature,
  NO_ROUTES,
  type OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  type CohortSchedules,
  createCohortSchedules,
} from './cohort-schedules.ts';

/**
 * Keeps the Temporal Schedules in line with the cohorts' monitoring settings.
 * The orchestrator runs the monitoring itself.
 */
export const monitoringFeature = {
  open({
    store,
    temporal,
    logger,
  }: Platform): OpenFeature<{ cohortSchedules: CohortSchedules }> {
    const cohortSchedules = createCohortSchedules({ store, temporal, logger });
    return {
      services: { cohortSchedules },
      recoveries: [cohortSchedules.recovery],
      drain: cohortSchedules.drain,
    };
  },
  routes: NO_ROUTES,
} satisfies Feature;
