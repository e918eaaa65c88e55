import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { searchIndexing } from '../patients/search-indexing.ts';
import { addPatientRoutes } from './routes.ts';

/** Patients: E4, matching and consent. */
export const patientsFeature = {
  open: ({ store }: Pick<Platform, 'store'>): OpenFeature => ({
    recoveries: [searchIndexing({ store })],
    drain: async () => undefined,
  }),
  routes: (
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addPatientRoutes>,
  ) => addPatientRoutes(operations, deps),
} satisfies Feature;
