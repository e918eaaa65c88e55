import {
  type DepsOf,
  type Feature,
  type GatewayScopes,
  NO_ACTIVITIES,
  NOTHING_OPEN,
} from '../platform/feature.ts';
import { addCohortPatientRoutes } from './member-routes.ts';
import { addCohortRoutes } from './routes.ts';

/** Cohorts and their patients: E6 to E10. */
export const cohortsFeature = {
  open: NOTHING_OPEN,
  routes(
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addCohortRoutes> & DepsOf<typeof addCohortPatientRoutes>,
  ) {
    addCohortRoutes(operations, deps);
    addCohortPatientRoutes(operations, deps);
  },
  activities: NO_ACTIVITIES,
} satisfies Feature;
