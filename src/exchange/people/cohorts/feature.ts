import type { DepsOf, Feature, GatewayScopes } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { sizeSummation } from './cohort-store.ts';
import { addCohortPatientRoutes, addCohortRoutes } from './routes.ts';

/** Cohorts and their patients: E6 to E10. */
export const cohortsFeature = {
  open: ({ store }: Pick<Platform, 'store'>) => ({
    recoveries: [sizeSummation({ store })],
    drain: async () => undefined,
  }),
  routes(
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addCohortRoutes> &
      DepsOf<typeof addCohortPatientRoutes>,
  ) {
    addCohortRoutes(operations, deps);
    addCohortPatientRoutes(operations, deps);
  },
} satisfies Feature;
