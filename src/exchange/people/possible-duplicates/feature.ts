import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { patientComparing } from './comparing.ts';
import { addPossibleDuplicateRoutes } from './routes.ts';

/**
 * Patients that may be one person: found after each change, listed for a person
 * to decide.
 */
export const possibleDuplicatesFeature = {
  open: ({ store }: Pick<Platform, 'store'>): OpenFeature => ({
    recoveries: [patientComparing({ store })],
    drain: async () => undefined,
  }),
  routes: (
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addPossibleDuplicateRoutes>,
  ) => addPossibleDuplicateRoutes(operations, deps),
} satisfies Feature;
